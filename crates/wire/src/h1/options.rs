//! What the Connection field asks for (RFC 9110 §7.6.1).

use super::head::Version;
use crate::fields::Field;

/// The options of all Connection fields of a head.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionOptions {
    close: bool,
    keep_alive: bool,
    upgrade: bool,
    names_fields: bool,
}

impl ConnectionOptions {
    /// The options in these fields.
    pub fn of<'a>(fields: impl Iterator<Item = Field<'a>>) -> Self {
        let mut options = Self::default();
        for field in fields.filter(is_connection) {
            for option in list(field.value) {
                match option {
                    _ if option.eq_ignore_ascii_case(b"close") => options.close = true,
                    _ if option.eq_ignore_ascii_case(b"keep-alive") => options.keep_alive = true,
                    _ if option.eq_ignore_ascii_case(b"upgrade") => options.upgrade = true,
                    _ => options.names_fields = true,
                }
            }
        }
        options
    }

    /// Whether the connection may carry another exchange, as far as the sender says (RFC 9112 §9.3).
    pub fn persists(self, version: Version) -> bool {
        match version {
            _ if self.close => false,
            Version::Http11 => true,
            Version::Http10 => self.keep_alive,
        }
    }

    /// Whether the Upgrade field is meant for this connection.
    pub fn upgrade(self) -> bool {
        self.upgrade
    }

    /// Whether `name` belongs to this connection alone and is not to be handed on. `fields` are those
    /// that the options came from.
    pub fn covers<'a>(self, name: &[u8], fields: impl Iterator<Item = Field<'a>>) -> bool {
        const ALWAYS: [&[u8]; 5] =
            [b"connection", b"keep-alive", b"proxy-connection", b"te", b"transfer-encoding"];
        if name.eq_ignore_ascii_case(b"upgrade") {
            return !self.upgrade;
        }
        ALWAYS.iter().any(|always| name.eq_ignore_ascii_case(always))
            || self.names_fields
                && fields
                    .filter(is_connection)
                    .any(|field| list(field.value).any(|option| option.eq_ignore_ascii_case(name)))
    }
}

fn is_connection(field: &Field<'_>) -> bool {
    field.name.eq_ignore_ascii_case(b"connection")
}

fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fields;

    #[test]
    fn persistence_depends_on_version_and_options() {
        let persists = |value: &str, version| {
            let fields = Fields::new().with("Connection", value);
            ConnectionOptions::of(fields.iter()).persists(version)
        };
        assert!(persists("", Version::Http11));
        assert!(!persists("foo, Close", Version::Http11));
        assert!(!persists("", Version::Http10));
        assert!(persists("Keep-Alive", Version::Http10));
        assert!(!persists("keep-alive, close", Version::Http10));
    }

    #[test]
    fn fields_that_connection_names_are_its_own() {
        let fields = Fields::new().with("Connection", "close, X-Hop").with("connection", "upgrade");
        let options = ConnectionOptions::of(fields.iter());
        assert!(options.covers(b"x-hop", fields.iter()));
        assert!(options.covers(b"TE", fields.iter()));
        assert!(!options.covers(b"Upgrade", fields.iter()));
        assert!(!options.covers(b"accept", fields.iter()));
    }
}
