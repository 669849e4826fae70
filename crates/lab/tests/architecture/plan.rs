//! The plan as ARCHITECTURE.md draws it: the edges between crates, and the order of the lab's folders.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Each crate, and the crates that it uses.
pub(crate) type Edges = BTreeMap<String, BTreeSet<String>>;

/// The crates that its table tells of.
pub(crate) fn crates() -> BTreeSet<String> {
    let text = architecture();
    let (_, table) = text.split_once("| crate | is |\n|---|---|\n").unwrap();
    let rows = table.lines().map_while(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap_or_default().to_owned()).collect()
}

/// The edges that are drawn: groups `a, b -> c, d` with two spaces or more between them, in the one block that has arrows
/// between names alone. Each of `a` and `b` uses `c` and `d`.
pub(crate) fn edges() -> Edges {
    let text = architecture();
    let blocks = text.split("```").skip(1).step_by(2);
    let block = blocks.into_iter().find(|block| block.contains("trace -> unit")).unwrap();
    let mut edges = Edges::new();
    for group in block.lines().flat_map(|line| line.split("  ")).filter(|group| !group.is_empty()) {
        let (users, used) = group.split_once(" -> ").unwrap_or_else(|| panic!("no edge: {group}"));
        for user in names(users) {
            let known = edges.insert(user.clone(), names(used).collect());
            assert!(known.is_none(), "ARCHITECTURE.md draws the edges of {user} twice");
        }
    }
    edges
}

/// How the drawn edges differ from those of the manifests, a sentence each. What uses nothing need not be drawn.
pub(crate) fn differences(drawn: &Edges, declared: &Edges) -> Vec<String> {
    let each = |edges: &Edges| -> BTreeSet<(String, String)> {
        let pairs = |(user, used): (&String, &BTreeSet<String>)| -> Vec<_> {
            used.iter().map(|used| (user.clone(), used.clone())).collect()
        };
        edges.iter().flat_map(pairs).collect()
    };
    let (drawn, declared) = (each(drawn), each(declared));
    let missing = declared.difference(&drawn);
    let missing = missing.map(|(a, b)| format!("ARCHITECTURE.md does not draw {a} -> {b}"));
    let extra = drawn.difference(&declared);
    let extra = extra.map(|(a, b)| format!("ARCHITECTURE.md draws {a} -> {b}, and {a} lacks it"));
    missing.chain(extra).collect()
}

/// The folders of the lab, each of which may use those after it.
pub(crate) fn folders_of_lab() -> Vec<String> {
    let text = architecture();
    let (_, rest) = text.split_once("Its folders are ").unwrap();
    let (list, _) = rest.split_once("; each may use those after it").unwrap();
    names(&list.replace('`', "")).collect()
}

fn names(list: &str) -> impl Iterator<Item = String> {
    list.split(',').map(|name| name.trim().to_owned())
}

fn architecture() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn an_edge_that_is_missing_on_either_side_is_told() {
    let edges = |list: &[(&str, &str)]| -> Edges {
        list.iter().map(|(user, used)| ((*user).to_owned(), names(used).collect())).collect()
    };
    let drawn = edges(&[("os", "unit, wire"), ("sim", "unit")]);
    let declared = edges(&[("os", "unit, link"), ("sim", "unit")]);
    let told = differences(&drawn, &declared);
    assert_eq!(
        told,
        [
            "ARCHITECTURE.md does not draw os -> link",
            "ARCHITECTURE.md draws os -> wire, and os lacks it"
        ]
    );
}
