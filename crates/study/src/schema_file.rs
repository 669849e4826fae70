//! The published schemas under `docs/schema/` are made from the types; a test holds each to them. The crate
//! `subject` tests its own with this file too.

use serde_json::Value;
use std::path::Path;

/// Fails where the file differs from `schema`. With `UPDATE_SCHEMAS=1` it writes the file instead.
pub(crate) fn check(file: &str, schema: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema").join(file);
    let mut schema = schema.clone();
    // A name by which other schemas and editors refer to it; nothing is fetched from there.
    let name = file.trim_end_matches(".schema.json");
    schema["$id"] = format!("urn:wirelap:schema:{name}").into();
    let wanted = format!("{schema:#}\n");
    #[expect(clippy::disallowed_methods, reason = "a switch of this test, not of the product")]
    let update = std::env::var("UPDATE_SCHEMAS").is_ok_and(|value| value == "1");
    if update {
        std::fs::write(&path, &wanted).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == wanted,
        "docs/schema/{file} is out of date: UPDATE_SCHEMAS=1 cargo test -p {} writes it anew",
        env!("CARGO_PKG_NAME")
    );
}
