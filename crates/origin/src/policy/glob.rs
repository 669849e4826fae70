//! Patterns of hosts and paths: `*` is any text without a slash, `**` any text.

use crate::media_type::essence;
use std::fmt;
use std::str::FromStr;

/// A pattern. All but its stars stands for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    text: String,
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    /// This byte.
    Byte(u8),
    /// Any bytes but slashes.
    Star,
    /// Any bytes.
    DoubleStar,
}

/// A text that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadGlob {
    /// What is wrong with it.
    pub rule: &'static str,
}

impl Glob {
    /// Whether a host, without its port, matches. Case makes no difference.
    pub fn matches_host(&self, host: &str) -> bool {
        self.matches(host.as_bytes(), |one, other| one.eq_ignore_ascii_case(&other))
    }

    /// Whether a target matches. Its query counts where the pattern has a question mark. One above 2,048 bytes matches
    /// nothing.
    pub fn matches_path(&self, target: &str) -> bool {
        let path = match self.text.contains('?') {
            true => target,
            false => target.split('?').next().unwrap_or(target),
        };
        self.matches(path.as_bytes(), |one, other| one == other)
    }

    /// Whether a media type, without its parameters, matches. Case makes no difference.
    pub fn matches_media_type(&self, media_type: &str) -> bool {
        self.matches(essence(media_type).as_bytes(), |one, other| one.eq_ignore_ascii_case(&other))
    }

    /// Follows all ways to match at once: the time is bounded by both lengths multiplied.
    fn matches(&self, text: &[u8], is_same: impl Fn(u8, u8) -> bool) -> bool {
        if text.len() > LONGEST_TEXT {
            return false;
        }
        // Whether the tokens before each one can match what was read.
        let mut reached = vec![false; self.tokens.len() + 1];
        reached[0] = true;
        self.skip_stars(&mut reached);
        let mut next = reached.clone();
        for &byte in text {
            next.fill(false);
            for (at, token) in self.tokens.iter().enumerate().filter(|&(at, _)| reached[at]) {
                match *token {
                    Token::Byte(expected) if is_same(expected, byte) => next[at + 1] = true,
                    Token::Star if byte != b'/' => next[at] = true,
                    Token::DoubleStar => next[at] = true,
                    Token::Byte(_) | Token::Star => {}
                }
            }
            self.skip_stars(&mut next);
            std::mem::swap(&mut reached, &mut next);
        }
        reached.last() == Some(&true)
    }

    /// A star matches nothing, too.
    fn skip_stars(&self, reached: &mut [bool]) {
        for (at, token) in self.tokens.iter().enumerate() {
            reached[at + 1] |= reached[at] && !matches!(token, Token::Byte(_));
        }
    }
}

impl FromStr for Glob {
    type Err = BadGlob;

    fn from_str(text: &str) -> Result<Self, BadGlob> {
        let bad = |rule| Err(BadGlob { rule });
        if text.is_empty() {
            return bad("a pattern is not empty");
        }
        if text.len() > LONGEST_PATTERN {
            return bad("a pattern has at most 256 bytes");
        }
        if text.contains("***") {
            return bad("a pattern has one star (no slash) or two (anything) in a row");
        }
        if text.bytes().any(|byte| matches!(byte, b'[' | b']' | b'{' | b'}' | b'\\')) {
            return bad("a pattern has stars, and neither brackets, braces nor backslashes");
        }
        if text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return bad("a pattern has neither spaces nor control characters");
        }
        let mut tokens: Vec<Token> = Vec::with_capacity(text.len());
        for byte in text.bytes() {
            match (byte, tokens.last_mut()) {
                (b'*', Some(last @ Token::Star)) => *last = Token::DoubleStar,
                (b'*', _) => tokens.push(Token::Star),
                (other, _) => tokens.push(Token::Byte(other)),
            }
        }
        Ok(Self { text: text.to_owned(), tokens })
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for BadGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule)
    }
}

impl std::error::Error for BadGlob {}

const LONGEST_PATTERN: usize = 256;
const LONGEST_TEXT: usize = 2_048;

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(text: &str) -> Glob {
        text.parse().unwrap()
    }

    #[test]
    fn a_star_stays_within_a_name_and_two_do_not() {
        for (pattern, path, matches) in [
            ("/", "/", true),
            ("/*.css", "/a.css", true),
            ("/*.css", "/b/a.css", false),
            ("/**.css", "/b/a.css", true),
            ("/**", "/", true),
            ("/**/x*y", "/a/b/x12y", true),
            ("/**/x*y", "/a/b/x/y", false),
            ("/a", "/A", false),
            ("/a", "/a?b=c", true),
            ("/a?b=*", "/a?b=c", true),
            ("/a?b=*", "/a", false),
        ] {
            assert_eq!(glob(pattern).matches_path(path), matches, "{pattern} {path}");
        }
        assert!(glob("*.EXAMPLE").matches_host("www.example"));
        assert!(!glob("*.example").matches_host("example"));
        assert!(glob("image/*").matches_media_type("Image/AVIF; x=y"));
        assert!(!glob("image/*").matches_media_type("text/css"));
    }

    #[test]
    fn a_pattern_made_for_backtracking_takes_no_longer_than_others() {
        let pattern = glob(&format!("/{}x", "*a".repeat(120)));
        assert!(!pattern.matches_path(&format!("/{}", "a".repeat(2_000))));
        assert!(!pattern.matches_path(&format!("/{}x", "a".repeat(20_000))), "too long");
    }

    #[test]
    fn what_is_no_pattern_is_told_why() {
        for text in ["", "/***", "/[ab]", "/a b", "/\n", "/{a,b}"] {
            assert!(text.parse::<Glob>().is_err(), "{text}");
        }
        assert!("a".repeat(257).parse::<Glob>().is_err());
    }
}
