//! What a file is called where there is room for a word: by the end of its URL's path.

/// `app.js` of `https://far/js/app.js?v=2`, `image 7` of `/image/7?bytes=5000`, the host of a URL without a path. A name
/// without an ending keeps its query, which tells one call of an API from another.
pub(crate) fn file_name(url: &str) -> String {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = path.split_once('/').unwrap_or((path, ""));
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut parts = path.trim_end_matches('/').rsplit('/');
    let last = parts.next().unwrap_or_default();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = match (last, parts.next()) {
        ("", _) => host.to_owned(),
        (number, Some(kind)) if is_number(number.split('.').next().unwrap_or_default()) => {
            format!("{kind} {number}")
        }
        (last, _) if query.is_empty() || last.contains('.') => last.to_owned(),
        (last, _) => format!("{last}?{query}"),
    };
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

/// Letters that a column of names has room for.
const LONGEST: usize = 21;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_called_by_the_end_of_its_path() {
        for (url, name) in [
            ("https://far/js/app.js?v=2", "app.js"),
            ("https://far/image/7?bytes=5000&v=3a", "image 7"),
            ("http://far/image/7.png", "image 7.png"),
            ("https://far/api/items?page=2", "items?page=2"),
            ("https://far/docs/", "docs"),
            ("https://far/", "far"),
            ("https://far/?page=1", "far"),
            ("no url at all", "no url at all"),
        ] {
            assert_eq!(file_name(url), name, "{url}");
        }
        assert_eq!(file_name(&format!("https://far/{}", "é".repeat(40))).chars().count(), 22);
    }
}
