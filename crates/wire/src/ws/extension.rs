//! The field `Sec-WebSocket-Extensions` (RFC 6455 §9.1) and the one extension that is known,
//! permessage-deflate: what is offered, what is agreed on (RFC 7692 §7.1).

const NAME: &str = "permessage-deflate";
const SERVER_NO_CONTEXT: &str = "server_no_context_takeover";
const CLIENT_NO_CONTEXT: &str = "client_no_context_takeover";
const SERVER_WINDOW: &str = "server_max_window_bits";
const CLIENT_WINDOW: &str = "client_max_window_bits";

/// Extensions in one field, and parameters of one extension, that are read; more are a fault.
const MAX_ITEMS: usize = 32;

/// An extension as a field names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    /// Its token.
    pub name: String,
    /// Names and values, in order.
    pub parameters: Vec<(String, Option<String>)>,
}

/// The base-2 logarithm of an LZ77 window: 8 to 15.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WindowBits(u8);

impl WindowBits {
    /// What holds where nothing is said.
    pub const MAX: Self = Self(15);

    /// `bits` where they are 8 to 15 (RFC 7692 §7.1.2.1).
    pub const fn new(bits: u8) -> Option<Self> {
        if bits >= 8 && bits <= 15 { Some(Self(bits)) } else { None }
    }

    /// The number.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// RFC 7692 §7.1.2: a decimal integer without leading zeroes.
    fn parse(text: &str) -> Option<Self> {
        let is_plain = text.bytes().all(|digit| digit.is_ascii_digit()) && !text.starts_with('0');
        text.parse().ok().filter(|_| is_plain).and_then(Self::new)
    }
}

/// What a client says about its own window (RFC 7692 §7.1.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientWindow {
    /// Nothing: the server may not limit it.
    #[default]
    Unsaid,
    /// The server may limit it.
    Limitable,
    /// It is this at most, and the server may limit it further.
    AtMost(WindowBits),
}

/// An offer of permessage-deflate; on a server's side, what it wishes itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeflateOffer {
    /// The server shall forget its window after each message.
    pub server_no_context_takeover: bool,
    /// The client will.
    pub client_no_context_takeover: bool,
    /// The server's window shall be this at most.
    pub server_max_window_bits: Option<WindowBits>,
    /// The client's window.
    pub client_max_window_bits: ClientWindow,
}

/// permessage-deflate as it was agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeflateParameters {
    /// The server forgets its window after each message.
    pub server_no_context_takeover: bool,
    /// The client does.
    pub client_no_context_takeover: bool,
    /// The server's window; None for the greatest.
    pub server_max_window_bits: Option<WindowBits>,
    /// The client's window; None for the greatest.
    pub client_max_window_bits: Option<WindowBits>,
}

impl DeflateOffer {
    /// Reads an offer; None where it is not one, or has a parameter that is unknown, wrong or there
    /// twice, which is declined (RFC 7692 §5.1, §7.1).
    pub fn of(extension: &Extension) -> Option<Self> {
        let mut offer = Self::default();
        let mut seen = Vec::new();
        for (name, value) in known(extension)? {
            if seen.contains(&name) {
                return None;
            }
            seen.push(name);
            match (name, value) {
                (SERVER_NO_CONTEXT, None) => offer.server_no_context_takeover = true,
                (CLIENT_NO_CONTEXT, None) => offer.client_no_context_takeover = true,
                (SERVER_WINDOW, Some(bits)) => {
                    offer.server_max_window_bits = Some(WindowBits::parse(bits)?);
                }
                (CLIENT_WINDOW, None) => offer.client_max_window_bits = ClientWindow::Limitable,
                (CLIENT_WINDOW, Some(bits)) => {
                    offer.client_max_window_bits = ClientWindow::AtMost(WindowBits::parse(bits)?);
                }
                _ => return None,
            }
        }
        Some(offer)
    }

    /// The offer as a field's value.
    pub fn to_field(&self) -> String {
        let mut text = NAME.to_owned();
        put_contexts(&mut text, self.server_no_context_takeover, self.client_no_context_takeover);
        put_window(&mut text, SERVER_WINDOW, self.server_max_window_bits);
        match self.client_max_window_bits {
            ClientWindow::Unsaid => {}
            ClientWindow::Limitable => text.push_str("; client_max_window_bits"),
            ClientWindow::AtMost(bits) => put_window(&mut text, CLIENT_WINDOW, Some(bits)),
        }
        text
    }

    /// What a server that wishes `wish` makes of this offer: every offer can be met.
    pub fn agree(&self, wish: &Self) -> DeflateParameters {
        let wanted = match wish.client_max_window_bits {
            ClientWindow::AtMost(bits) => Some(bits),
            _ => None,
        };
        DeflateParameters {
            server_no_context_takeover: self.server_no_context_takeover
                || wish.server_no_context_takeover,
            client_no_context_takeover: self.client_no_context_takeover
                || wish.client_no_context_takeover,
            server_max_window_bits: smaller(
                self.server_max_window_bits,
                wish.server_max_window_bits,
            ),
            // RFC 7692 §7.1.2.2: a client that did not offer the parameter must not be sent it.
            client_max_window_bits: match self.client_max_window_bits {
                ClientWindow::Unsaid => None,
                ClientWindow::Limitable => wanted,
                ClientWindow::AtMost(bits) => smaller(Some(bits), wanted),
            },
        }
    }

    /// Reads a server's answer to this offer. The error is the rule that it breaks.
    pub fn confirm(&self, extension: &Extension) -> Result<DeflateParameters, &'static str> {
        let answer = Self::of(extension)
            .ok_or("the parameters of permessage-deflate are known and right (RFC 7692 §7.1)")?;
        if self.server_no_context_takeover && !answer.server_no_context_takeover {
            return Err("server_no_context_takeover is accepted by saying it (RFC 7692 §7.1.1.1)");
        }
        if self.server_max_window_bits.is_some_and(|asked| {
            answer.server_max_window_bits.is_none_or(|answered| answered > asked)
        }) {
            return Err(
                "server_max_window_bits is accepted as it is or smaller (RFC 7692 §7.1.2.1)",
            );
        }
        let client_max_window_bits = match (
            self.client_max_window_bits,
            answer.client_max_window_bits,
        ) {
            (ClientWindow::AtMost(own), ClientWindow::Unsaid) => Some(own),
            (_, ClientWindow::Unsaid) => None,
            (_, ClientWindow::Limitable) => {
                return Err("client_max_window_bits has a value in an answer (RFC 7692 §7.1.2.2)");
            }
            (ClientWindow::Unsaid, _) => {
                return Err("client_max_window_bits answers an offer of it (RFC 7692 §7.1.2.2)");
            }
            (ClientWindow::AtMost(own), ClientWindow::AtMost(bits)) if bits > own => {
                return Err(
                    "client_max_window_bits is accepted as it is or smaller (RFC 7692 §7.1.2.2)",
                );
            }
            (_, ClientWindow::AtMost(bits)) => Some(bits),
        };
        Ok(DeflateParameters {
            server_no_context_takeover: answer.server_no_context_takeover,
            client_no_context_takeover: self.client_no_context_takeover
                || answer.client_no_context_takeover,
            server_max_window_bits: answer.server_max_window_bits,
            client_max_window_bits,
        })
    }
}

impl DeflateParameters {
    /// The answer as a field's value.
    pub fn to_field(&self) -> String {
        let mut text = NAME.to_owned();
        put_contexts(&mut text, self.server_no_context_takeover, self.client_no_context_takeover);
        put_window(&mut text, SERVER_WINDOW, self.server_max_window_bits);
        put_window(&mut text, CLIENT_WINDOW, self.client_max_window_bits);
        text
    }
}

/// Reads the value of one `Sec-WebSocket-Extensions` field; None where it does not follow the grammar.
pub fn parse_extensions(value: &[u8]) -> Option<Vec<Extension>> {
    let mut reader = Reader(value);
    let mut extensions = Vec::new();
    loop {
        let mut extension = Extension { name: reader.token()?, parameters: Vec::new() };
        while reader.eat(b';') {
            let name = reader.token()?;
            let value = if reader.eat(b'=') { Some(reader.value()?) } else { None };
            extension.parameters.push((name, value));
            if extension.parameters.len() > MAX_ITEMS {
                return None;
            }
        }
        extensions.push(extension);
        if !reader.eat(b',') {
            return (reader.0.is_empty() && extensions.len() <= MAX_ITEMS).then_some(extensions);
        }
    }
}

/// A field's value as far as it is not read.
struct Reader<'v>(&'v [u8]);

impl Reader<'_> {
    fn token(&mut self) -> Option<String> {
        self.0 = self.0.trim_ascii_start();
        let end = self.0.iter().position(|byte| !is_tchar(*byte)).unwrap_or(self.0.len());
        let (token, rest) = self.0.split_at(end);
        self.0 = rest.trim_ascii_start();
        if token.is_empty() { None } else { String::from_utf8(token.to_vec()).ok() }
    }

    fn eat(&mut self, wanted: u8) -> bool {
        match self.0.split_first() {
            Some((first, rest)) if *first == wanted => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    /// A token, or a quoted string that holds one (RFC 6455 §9.1).
    fn value(&mut self) -> Option<String> {
        self.0 = self.0.trim_ascii_start();
        if !self.eat(b'"') {
            return self.token();
        }
        let mut value = Vec::new();
        loop {
            let (&first, rest) = self.0.split_first()?;
            self.0 = rest;
            match first {
                b'"' => break,
                b'\\' => {
                    let (&escaped, rest) = self.0.split_first()?;
                    self.0 = rest;
                    value.push(escaped);
                }
                _ => value.push(first),
            }
        }
        self.0 = self.0.trim_ascii_start();
        let is_token = !value.is_empty() && value.iter().copied().all(is_tchar);
        if is_token { String::from_utf8(value).ok() } else { None }
    }
}

fn known(extension: &Extension) -> Option<impl Iterator<Item = (&str, Option<&str>)>> {
    (extension.name == NAME)
        .then(|| extension.parameters.iter().map(|(name, value)| (name.as_str(), value.as_deref())))
}

fn smaller(one: Option<WindowBits>, other: Option<WindowBits>) -> Option<WindowBits> {
    [one, other].into_iter().flatten().min()
}

fn put_contexts(text: &mut String, server: bool, client: bool) {
    for (name, is_said) in [(SERVER_NO_CONTEXT, server), (CLIENT_NO_CONTEXT, client)] {
        if is_said {
            text.push_str("; ");
            text.push_str(name);
        }
    }
}

fn put_window(text: &mut String, name: &str, bits: Option<WindowBits>) {
    if let Some(WindowBits(bits)) = bits {
        text.push_str(&format!("; {name}={bits}"));
    }
}

/// RFC 9110 §5.6.2: tchar.
fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offers(value: &str) -> Vec<Option<DeflateOffer>> {
        parse_extensions(value.as_bytes()).unwrap().iter().map(DeflateOffer::of).collect()
    }

    fn confirm(offer: &str, answer: &str) -> bool {
        let offer = offers(offer)[0].unwrap();
        offer.confirm(&parse_extensions(answer.as_bytes()).unwrap()[0]).is_ok()
    }

    #[test]
    fn the_examples_of_the_rfc_are_read() {
        // RFC 7692 §7.1.3
        assert_eq!(offers("permessage-deflate"), [Some(DeflateOffer::default())]);
        let ten = WindowBits::new(10);
        let limited = DeflateOffer {
            server_max_window_bits: ten,
            client_max_window_bits: ClientWindow::Limitable,
            ..DeflateOffer::default()
        };
        assert_eq!(
            offers(
                "permessage-deflate; client_max_window_bits; server_max_window_bits=10, \
                 permessage-deflate; client_max_window_bits"
            ),
            [
                Some(limited),
                Some(DeflateOffer {
                    client_max_window_bits: ClientWindow::Limitable,
                    ..DeflateOffer::default()
                })
            ]
        );
        assert_eq!(
            offers("permessage-deflate; client_max_window_bits; server_max_window_bits=\"10\""),
            [Some(limited)]
        );
    }

    #[test]
    fn an_offer_with_a_wrong_parameter_is_declined_and_the_next_one_is_looked_at() {
        for wrong in [
            "server_max_window_bits",
            "server_max_window_bits=7",
            "server_max_window_bits=16",
            "server_max_window_bits=08",
            "server_max_window_bits=+9",
            "client_max_window_bits=x",
            "server_no_context_takeover=1",
            "client_no_context_takeover; client_no_context_takeover",
            "tea",
        ] {
            let read = offers(&format!("permessage-deflate; {wrong}, permessage-deflate"));
            assert_eq!(read, [None, Some(DeflateOffer::default())], "{wrong}");
        }
        assert_eq!(offers("x-webkit-deflate-frame"), [None]);
    }

    #[test]
    fn a_field_that_breaks_the_grammar_is_told() {
        for value in
            ["", ",", "a;", "a;=1", "a;b=", "a;b=\"", "a;b=\"c d\"", "a b", "a,", "a;b=\"\\"]
        {
            assert_eq!(parse_extensions(value.as_bytes()), None, "{value}");
        }
    }

    #[test]
    fn an_answer_that_does_not_fit_the_offer_is_refused() {
        let plain = "permessage-deflate";
        assert!(confirm(plain, plain));
        assert!(confirm(plain, "permessage-deflate; server_no_context_takeover"));
        assert!(confirm(plain, "permessage-deflate; server_max_window_bits=9"));
        assert!(!confirm(plain, "permessage-deflate; client_max_window_bits=9"));
        assert!(!confirm(plain, "permessage-deflate; tea"));
        let asked = "permessage-deflate; server_no_context_takeover; server_max_window_bits=10; client_max_window_bits=12";
        assert!(confirm(
            asked,
            "permessage-deflate; server_no_context_takeover; server_max_window_bits=10"
        ));
        assert!(!confirm(asked, "permessage-deflate; server_max_window_bits=10"));
        assert!(!confirm(asked, "permessage-deflate; server_no_context_takeover"));
        let answered = format!("{asked}; client_no_context_takeover");
        assert!(confirm(asked, &answered));
        assert!(!confirm(asked, &answered.replace("=10", "=11")));
        assert!(!confirm(asked, &answered.replace("=12", "=13")));
        assert!(!confirm(asked, &answered.replace("=12", "")));
    }

    fn bits() -> impl Strategy<Value = Option<WindowBits>> {
        proptest::option::of((8..16_u8).prop_map(|bits| WindowBits::new(bits).unwrap()))
    }

    prop_compose! {
        fn offer()(
            (server_no_context_takeover, client_no_context_takeover) in any::<(bool, bool)>(),
            server_max_window_bits in bits(),
            said in any::<bool>(),
            client in bits(),
        ) -> DeflateOffer {
            let client_max_window_bits = match (said, client) {
                (false, _) => ClientWindow::Unsaid,
                (true, None) => ClientWindow::Limitable,
                (true, Some(bits)) => ClientWindow::AtMost(bits),
            };
            DeflateOffer {
                server_no_context_takeover, client_no_context_takeover, server_max_window_bits, client_max_window_bits,
            }
        }
    }

    proptest! {
        #[test]
        fn both_sides_understand_every_agreement_in_the_same_way(offer in offer(), wish in offer()) {
            prop_assert_eq!(&offers(&offer.to_field())[..], &[Some(offer)][..]);
            let agreed = offer.agree(&wish);
            let answer = parse_extensions(agreed.to_field().as_bytes()).unwrap();
            let confirmed = offer.confirm(&answer[0]);
            prop_assert_eq!(confirmed, Ok(agreed));
        }

        #[test]
        fn any_bytes_are_read_or_refused(value in proptest::collection::vec(any::<u8>(), 0..60)) {
            for extension in parse_extensions(&value).unwrap_or_default() {
                let _read_or_not = DeflateOffer::of(&extension);
            }
        }
    }
}
