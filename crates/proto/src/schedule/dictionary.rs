//! A parser of structured-field dictionaries (RFC 9651 §4.2.2). It checks everything and keeps only what
//! a caller can use: integers and booleans. Parameters and other values are checked and skipped.
//!
//! It takes one pass, allocates for display strings alone and never recurses (inner lists do not nest).

/// A member's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// An integer of up to 15 digits.
    Integer(i64),
    /// A boolean; also what a key without a value means.
    Boolean(bool),
    /// A decimal, string, token, byte sequence, date, display string or inner list.
    Other,
}

/// The input is not a dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// Tells each member in order. Of a key that is there twice, the later value counts (§4.2.2). After
/// an error, the parameters so far must be dropped.
pub(super) fn parse(input: &[u8], mut member: impl FnMut(&[u8], Value)) -> Result<(), Malformed> {
    let mut parser = Parser { rest: input };
    parser.skip(|byte| byte == b' ');
    while !parser.rest.is_empty() {
        let key = parser.key()?;
        let value = if parser.eat(b'=') { parser.item_or_list()? } else { Value::Boolean(true) };
        parser.parameters()?;
        member(key, value);
        parser.skip(is_ows);
        if parser.rest.is_empty() {
            return Ok(());
        }
        parser.expect(b',')?;
        parser.skip(is_ows);
        if parser.rest.is_empty() {
            return Err(Malformed);
        }
    }
    Ok(())
}

struct Parser<'i> {
    rest: &'i [u8],
}

impl<'i> Parser<'i> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn take(&mut self) -> Result<u8, Malformed> {
        let (&first, rest) = self.rest.split_first().ok_or(Malformed)?;
        self.rest = rest;
        Ok(first)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let eaten = self.peek() == Some(byte);
        if eaten {
            self.rest = &self.rest[1..];
        }
        eaten
    }

    fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.eat(byte) { Ok(()) } else { Err(Malformed) }
    }

    fn skip(&mut self, wanted: impl Fn(u8) -> bool) -> &'i [u8] {
        let end = self.rest.iter().position(|&byte| !wanted(byte)).unwrap_or(self.rest.len());
        let (skipped, rest) = self.rest.split_at(end);
        self.rest = rest;
        skipped
    }

    /// §4.2.3.3.
    fn key(&mut self) -> Result<&'i [u8], Malformed> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'*') {
            return Err(Malformed);
        }
        Ok(self.skip(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.*".contains(&byte)
        }))
    }

    /// §4.2.1.1.
    fn item_or_list(&mut self) -> Result<Value, Malformed> {
        if self.eat(b'(') { self.inner_list() } else { self.bare_item() }
    }

    /// §4.2.1.2, from behind the opening bracket to before the parameters.
    fn inner_list(&mut self) -> Result<Value, Malformed> {
        loop {
            self.skip(|byte| byte == b' ');
            if self.eat(b')') {
                return Ok(Value::Other);
            }
            self.bare_item()?;
            self.parameters()?;
            if !matches!(self.peek(), Some(b' ' | b')')) {
                return Err(Malformed);
            }
        }
    }

    /// §4.2.3.2.
    fn parameters(&mut self) -> Result<(), Malformed> {
        while self.eat(b';') {
            self.skip(|byte| byte == b' ');
            self.key()?;
            if self.eat(b'=') {
                self.bare_item()?;
            }
        }
        Ok(())
    }

    /// §4.2.3.1.
    fn bare_item(&mut self) -> Result<Value, Malformed> {
        match self.peek().ok_or(Malformed)? {
            b'-' | b'0'..=b'9' => self.number(),
            b'"' => self.string(),
            b'*' | b'A'..=b'Z' | b'a'..=b'z' => {
                self.skip(is_token);
                Ok(Value::Other)
            }
            b':' => self.byte_sequence(),
            b'?' => self.boolean(),
            b'@' => self.date(),
            b'%' => self.display_string(),
            _ => Err(Malformed),
        }
    }

    /// §4.2.4: an integer of up to 15 digits, or a decimal of up to 12 and 3.
    fn number(&mut self) -> Result<Value, Malformed> {
        let negative = self.eat(b'-');
        let digits = self.skip(|byte| byte.is_ascii_digit());
        if digits.is_empty() || digits.len() > 15 {
            return Err(Malformed);
        }
        if self.eat(b'.') {
            let fraction = self.skip(|byte| byte.is_ascii_digit());
            let fits = digits.len() <= 12 && (1..=3).contains(&fraction.len());
            return if fits { Ok(Value::Other) } else { Err(Malformed) };
        }
        let number = digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
        Ok(Value::Integer(if negative { -number } else { number }))
    }

    /// §4.2.5.
    fn string(&mut self) -> Result<Value, Malformed> {
        self.expect(b'"')?;
        loop {
            match self.take()? {
                b'"' => return Ok(Value::Other),
                b'\\' if !matches!(self.take()?, b'"' | b'\\') => return Err(Malformed),
                b'\\' | 0x20..=0x7e => {}
                _ => return Err(Malformed),
            }
        }
    }

    /// §4.2.7. Padding may be missing, and stray bits are let pass, as the section says.
    fn byte_sequence(&mut self) -> Result<Value, Malformed> {
        self.expect(b':')?;
        let digits = self.skip(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte));
        let padding = self.skip(|byte| byte == b'=');
        self.expect(b':')?;
        let left = digits.len() % 4;
        let padded = padding.is_empty() || (left != 0 && left + padding.len() == 4);
        if left == 1 || !padded { Err(Malformed) } else { Ok(Value::Other) }
    }

    /// §4.2.8.
    fn boolean(&mut self) -> Result<Value, Malformed> {
        self.expect(b'?')?;
        match self.take()? {
            b'0' => Ok(Value::Boolean(false)),
            b'1' => Ok(Value::Boolean(true)),
            _ => Err(Malformed),
        }
    }

    /// §4.2.9.
    fn date(&mut self) -> Result<Value, Malformed> {
        self.expect(b'@')?;
        match self.number()? {
            Value::Integer(_) => Ok(Value::Other),
            Value::Boolean(_) | Value::Other => Err(Malformed),
        }
    }

    /// §4.2.10. That its bytes are UTF-8 is checked too, as the section says.
    fn display_string(&mut self) -> Result<Value, Malformed> {
        self.expect(b'%')?;
        self.expect(b'"')?;
        let mut text = Vec::new();
        loop {
            match self.take()? {
                b'"' if std::str::from_utf8(&text).is_ok() => return Ok(Value::Other),
                b'%' => text.push(hex(self.take()?)? << 4 | hex(self.take()?)?),
                byte @ (0x20..=0x21 | 0x23..=0x7e) => text.push(byte),
                _ => return Err(Malformed),
            }
        }
    }
}

fn hex(byte: u8) -> Result<u8, Malformed> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        _ => Err(Malformed),
    }
}

/// §4.2.6: RFC 9110's tchar, and colon and slash.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte)
}

fn is_ows(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
