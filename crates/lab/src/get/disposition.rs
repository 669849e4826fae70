//! The name that a server gives a file: Content-Disposition (RFC 6266). The one rule: a name that could lead anywhere but
//! into the folder, or cannot be shown, is none.

use crate::percent;

/// The file name of a Content-Disposition, without the folders before it. None where there is none that can be trusted.
pub(crate) fn file_name(value: &str) -> Option<String> {
    let parameters: Vec<(String, String)> = parameters(value);
    let find = |name: &str| parameters.iter().find(|(own, _)| own == name).map(|(_, value)| value);
    // RFC 6266 §4.3: the extended form goes first.
    let extended = find("filename*").and_then(|value| extended(value));
    trusted(&extended.or_else(|| find("filename").cloned())?)
}

/// RFC 6266 §4.3: the last part of a path alone, no name with a meaning of its own, and nothing that is not seen.
fn trusted(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    let is_shown = unit::escape(last) == last;
    // A name that begins with a dot is hidden, or is one of the folders `.` and `..`.
    let is_plain = !last.is_empty() && !last.starts_with('.') && last.len() <= LONGEST_NAME;
    (is_shown && is_plain).then(|| last.to_owned())
}

/// NAME_MAX of Linux's file systems.
pub(super) const LONGEST_NAME: usize = 255;

/// The parameters after the type, their names in small letters.
fn parameters(value: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Some((_, mut rest)) = value.split_once(';') else { return found };
    while let Some((name, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let (value, end) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => {
                let (token, end) = after.split_at(after.find(';').unwrap_or(after.len()));
                (token.trim().to_owned(), end)
            }
        };
        found.push((name.trim().to_ascii_lowercase(), value));
        rest = end.find(';').map_or("", |semicolon| &end[semicolon + 1..]);
    }
    found
}

/// A quoted string from behind its first quote, and what follows it (RFC 9110 §5.6.4).
fn unquoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            _ => value.push(c),
        }
    }
    (value, "")
}

/// `UTF-8''na%C3%AFve` (RFC 8187 §3.2.1).
fn extended(value: &str) -> Option<String> {
    let (charset, rest) = value.split_once('\'')?;
    let (_language, coded) = rest.split_once('\'')?;
    let bytes = percent::decoded(coded);
    match charset.to_ascii_lowercase().as_str() {
        "utf-8" => String::from_utf8(bytes).ok(),
        "iso-8859-1" => Some(bytes.into_iter().map(char::from).collect()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_the_standard_writes_them() {
        for (value, name) in [
            // RFC 6266 §5.
            ("Attachment; filename=example.html", "example.html"),
            (r#"INLINE; FILENAME= "an example.html""#, "an example.html"),
            ("attachment; filename*= UTF-8''%e2%82%ac%20rates", "€ rates"),
            (r#"attachment; filename="EURO rates"; filename*=utf-8''%e2%82%ac%20rates"#, "€ rates"),
            // RFC 8187 §3.2.3.
            ("attachment; filename*=iso-8859-1'en'%A3%20rates", "£ rates"),
            (r#"attachment; size=3; filename="a;b=\"c\".txt" ; x=y"#, "a;b=\"c\".txt"),
            // What cannot be read gives way to the plain form.
            (r#"attachment; filename*=utf-8''%e2%82; filename="plain""#, "plain"),
            (r#"attachment; filename*=koi8-r''x; filename="plain""#, "plain"),
        ] {
            assert_eq!(file_name(value).as_deref(), Some(name), "{value}");
        }
    }

    #[test]
    fn a_name_never_leads_out_of_the_folder() {
        for (value, name) in [
            ("attachment; filename=/etc/passwd", Some("passwd")),
            ("attachment; filename=\"../../x\"", Some("x")),
            ("attachment; filename=\"C:\\\\dir\\\\x.txt\"", Some("x.txt")),
            ("attachment; filename*=UTF-8''..%2f..%2fx", Some("x")),
            ("attachment; filename=..", None),
            ("attachment; filename=a/..", None),
            ("attachment; filename=.bashrc", None),
            ("attachment; filename*=UTF-8''a%00b", None),
            ("attachment; filename*=UTF-8''a%0ab", None),
            ("attachment; filename*=UTF-8''a%1b%5b2Jb", None),
            ("attachment; filename*=UTF-8''txt.%e2%80%aeexe", None),
            ("attachment; filename=", None),
            ("attachment; filename=a/", None),
            ("attachment", None),
            ("", None),
        ] {
            assert_eq!(file_name(value).as_deref(), name, "{value}");
        }
        let named = |length| file_name(&format!("attachment; filename={}", "x".repeat(length)));
        assert_eq!(named(255).map(|name| name.len()), Some(255));
        assert_eq!(named(256), None);
    }
}
