//! The templates of declarations. `{name}` stands for a value, and `{{name}}` for the text `{name}`. Every other brace stands for
//! itself, because configurations are full of them. The one rule: an unknown name is an error.

/// Expands `template` in one pass: what a value holds is not looked at again. `value` is given the text before a name and the
/// name. Where it gives None, the name and its braces are text.
pub(crate) fn expand(
    template: &str,
    mut value: impl FnMut(&str, &str) -> Result<Option<String>, String>,
) -> Result<String, String> {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let before = &template[..template.len() - rest.len()];
        let taken = if let Some(name) = name_within(rest, "{{", "}}") {
            out.push_str(&rest[1..name.len() + 3]);
            name.len() + 4
        } else if let Some(name) = name_within(rest, "{", "}") {
            let length = name.len() + 2;
            match value(before, name)? {
                Some(text) => out.push_str(&text),
                None => out.push_str(&rest[..length]),
            }
            length
        } else {
            out.push('{');
            1
        };
        rest = &rest[taken..];
    }
    out.push_str(rest);
    Ok(out)
}

/// That a name is unknown, with those that are known.
pub(crate) fn unknown<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = known.into_iter().collect();
    known.sort_unstable();
    known.dedup();
    format!(
        "nothing is known as `{{{name}}}`; known are {}; write `{{{{{name}}}}}` for the text itself",
        known.join(", ")
    )
}

/// The name at the start of `text`, between these delimiters.
fn name_within<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let inner = text.strip_prefix(open)?;
    let name = &inner[..inner.find(|c: char| !c.is_ascii_lowercase() && c != '_')?];
    (!name.is_empty() && inner[name.len()..].starts_with(close)).then_some(name)
}
