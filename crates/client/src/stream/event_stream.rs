//! Server-sent events: the event stream format of WHATWG HTML (section "Parsing an event stream").

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerEvent {
    /// Its type; "message" where none is given.
    pub kind: String,
    /// The id of the last event that had one.
    pub id: String,
    /// Its data; lines are joined by a line feed.
    pub data: String,
}

/// A parser. Takes bytes in pieces of any size.
#[derive(Debug, Default)]
pub struct EventStream {
    line: Vec<u8>,
    /// Whether the last byte was a carriage return: a line feed after it ends no further line.
    after_return: bool,
    is_begun: bool,
    kind: String,
    id: String,
    data: String,
}

/// An event is larger than this client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream has more than {LARGEST} bytes")]
pub struct TooLarge;

/// Bytes of one event.
const LARGEST: usize = 1024 * 1024;

impl EventStream {
    /// Takes bytes, and gives the events that end in them.
    pub fn handle_bytes(&mut self, bytes: &[u8]) -> Result<Vec<ServerEvent>, TooLarge> {
        let mut events = Vec::new();
        for &byte in bytes {
            let is_second = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if is_second => {}
                b'\r' | b'\n' => events.extend(self.end_line()),
                _ if self.line.len() + self.data.len() >= LARGEST => return Err(TooLarge),
                _ => self.line.push(byte),
            }
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Option<ServerEvent> {
        let line = std::mem::take(&mut self.line);
        let mark: &[u8] = if self.is_begun { b"" } else { b"\xEF\xBB\xBF" };
        self.is_begun = true;
        let text = String::from_utf8_lossy(line.strip_prefix(mark).unwrap_or(&line));
        if text.is_empty() {
            return self.dispatch();
        }
        let (name, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "event" => value.clone_into(&mut self.kind),
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            // A comment has an empty name. `retry` is for clients that connect again.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<ServerEvent> {
        let kind = std::mem::take(&mut self.kind);
        let mut data = std::mem::take(&mut self.data);
        // The line feed after the last line.
        data.pop()?;
        let kind = if kind.is_empty() { "message".to_owned() } else { kind };
        Some(ServerEvent { kind, id: self.id.clone(), data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, id: &str, data: &str) -> ServerEvent {
        ServerEvent { kind: kind.to_owned(), id: id.to_owned(), data: data.to_owned() }
    }

    fn parse(text: &[u8]) -> Vec<ServerEvent> {
        let whole = EventStream::default().handle_bytes(text).unwrap();
        let mut stream = EventStream::default();
        let bytewise: Vec<_> =
            text.chunks(1).flat_map(|byte| stream.handle_bytes(byte).unwrap()).collect();
        assert_eq!(whole, bytewise);
        whole
    }

    #[test]
    fn the_examples_of_the_standard() {
        assert_eq!(
            parse(b"data: YHOO\ndata: +2\ndata: 10\n\n"),
            [event("message", "", "YHOO\n+2\n10")]
        );
        let text = b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n";
        let third = event("message", "", " third event");
        let expected =
            [event("message", "1", "first event"), event("message", "", "second event"), third];
        assert_eq!(parse(text), expected);
        // The last block is not ended by an empty line.
        let empty = event("message", "", "");
        assert_eq!(parse(b"data\n\ndata\ndata\n\ndata:"), [empty, event("message", "", "\n")]);
        assert_eq!(parse(b"data:test\n\ndata: test\n\n"), vec![event("message", "", "test"); 2]);
        assert_eq!(
            parse(b"event: add\ndata: 73\n\nevent: remove\ndata: 21\n\n"),
            [event("add", "", "73"), event("remove", "", "21")]
        );
    }

    #[test]
    fn lines_end_in_any_of_three_ways_and_one_mark_at_the_beginning_is_dropped() {
        for end in ["\n", "\r", "\r\n"] {
            let text = format!("\u{feff}data: a{end}data: b{end}{end}id: 7{end}data: c{end}{end}");
            assert_eq!(
                parse(text.as_bytes()),
                [event("message", "", "a\nb"), event("message", "7", "c")],
                "{end:?}"
            );
        }
        assert!(parse("\u{feff}\u{feff}data: a\n\n".as_bytes()).is_empty());
    }

    #[test]
    fn an_event_without_data_is_none_and_its_type_is_forgotten() {
        assert_eq!(parse(b"event: x\nid: 5\n\ndata: a\n\n"), [event("message", "5", "a")]);
        assert_eq!(
            parse(b"id: a\0b\nretry: 10\nunknown: x\ndata: a\n\n"),
            [event("message", "", "a")]
        );
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut stream = EventStream::default();
        assert_eq!(stream.handle_bytes(&vec![b'a'; LARGEST + 1]), Err(TooLarge));
    }
}
