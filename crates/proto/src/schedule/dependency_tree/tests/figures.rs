//! The examples of RFC 7540 §5.3, its cases of loops and of streams that are not in the tree, and floods.
//! Streams are named by letters as there: A is 1, B is 2, and so on.

use crate::StreamId;
use crate::schedule::dependency_tree::RETAINED;
use crate::schedule::{DependencyTree, Exclusive, Priority, Scheduler};

const FRAME: usize = 16_384;

fn id(letter: char) -> StreamId {
    StreamId(if letter == '.' { 0 } else { u64::from(u32::from(letter)) - 64 })
}

fn letter(stream: StreamId) -> char {
    if stream.0 == 0 { '.' } else { char::from(stream.0 as u8 + 64) }
}

/// `"A."` depends on the root, `"BA"` on A; `!` behind it makes it exclusive.
fn dependency(text: &str, weight: u16) -> (StreamId, Priority) {
    let mut letters = text.chars();
    let (stream, parent) = (letters.next().unwrap(), letters.next().unwrap());
    let exclusive = if letters.next().is_some() { Exclusive::Sole } else { Exclusive::Shared };
    (id(stream), Priority::Dependency { parent: id(parent), weight, exclusive })
}

fn tree(text: &str) -> DependencyTree {
    let mut tree = DependencyTree::new();
    for word in text.split(' ') {
        let (stream, priority) = dependency(word, 16);
        tree.insert(stream, priority);
    }
    tree
}

fn say(tree: &mut DependencyTree, text: &str) {
    let (stream, priority) = dependency(text, 16);
    tree.reprioritise(stream, priority);
}

/// The tree in the words of `tree`, in order of the letters.
fn shape(tree: &DependencyTree) -> String {
    let mut words = Vec::new();
    for stream in ('A'..='Z').map(id) {
        if let Some((parent, _)) = tree.dependency(stream) {
            words.push(format!("{}{}", letter(stream), letter(parent)));
        }
    }
    words.join(" ")
}

fn weight(tree: &DependencyTree, stream: char) -> f64 {
    f64::from(tree.dependency(id(stream)).unwrap().1) / 256.0
}

/// The first `frames` frames.
fn order(tree: &mut DependencyTree, frames: usize) -> String {
    let turn = |_| {
        let stream = tree.next()?;
        tree.sent(stream, FRAME);
        Some(letter(stream))
    };
    (0..frames).map_while(turn).collect()
}

#[test]
fn figure_3_default_dependency_creation() {
    let mut tree = tree("A. B. C.");
    tree.insert(id('D'), dependency("DA", 16).1);
    assert_eq!(shape(&tree), "A. B. C. DA");
}

#[test]
fn figure_4_exclusive_dependency_creation() {
    let mut tree = tree("A. BA CA");
    tree.insert(id('D'), dependency("DA!", 16).1);
    assert_eq!(shape(&tree), "A. BD CD DA");
}

#[test]
fn section_5_3_2_streams_of_weight_4_and_12_get_one_part_and_three() {
    let mut tree = tree("A.");
    tree.insert(id('B'), dependency("BA", 4).1);
    tree.insert(id('C'), dependency("CA", 12).1);
    for stream in ['B', 'C'] {
        tree.ready(id(stream));
    }
    let order = order(&mut tree, 400);
    for four in order.as_bytes().chunks(4) {
        assert_eq!(four.iter().filter(|&&stream| stream == b'B').count(), 1, "{order}");
    }
}

#[test]
fn figure_5_a_parent_moves_under_its_descendant() {
    let mut shared = tree("A. BA CA DC EC FD");
    say(&mut shared, "AD");
    assert_eq!(shape(&shared), "AD BA CA D. EC FD");
    let mut exclusive = tree("A. BA CA DC EC FD");
    say(&mut exclusive, "AD!");
    assert_eq!(shape(&exclusive), "AD BA CA D. EC FA");
}

#[test]
fn section_5_3_4_a_removed_parent_divides_its_weight() {
    // No closed stream is kept here.
    let mut tree = DependencyTree::with_retained(0);
    for (text, weight) in [("A.", 16), ("B.", 16), ("CA", 4), ("DA", 12)] {
        let (stream, priority) = dependency(text, weight);
        tree.insert(stream, priority);
    }
    tree.remove(id('A'));
    assert_eq!(shape(&tree), "B. C. D.");
    assert_eq!((weight(&tree, 'C'), weight(&tree, 'D')), (4.0, 12.0));
    for stream in ['B', 'C', 'D'] {
        tree.ready(id(stream));
    }
    let order = order(&mut tree, 800);
    let counts = ['B', 'C', 'D'].map(|stream| order.matches(stream).count());
    assert_eq!(counts, [400, 100, 300], "C and D share what A had");
}

#[test]
fn a_closed_stream_keeps_its_place_for_a_while() {
    let mut tree = tree("A. BA");
    tree.remove(id('A'));
    tree.insert(id('C'), dependency("CA", 16).1);
    assert_eq!(shape(&tree), "A. BA CA");
    tree.ready(id('A'));
    assert_eq!(tree.next(), None, "a closed stream has nothing to send");
}

#[test]
fn a_stream_that_depends_on_one_that_is_not_there_gets_the_default() {
    let mut tree = tree("A.");
    tree.insert(id('B'), dependency("BZ!", 200).1);
    assert_eq!(shape(&tree), "A. B.");
    assert_eq!(weight(&tree, 'B'), 16.0);
    tree.reprioritise(id('A'), dependency("AY", 99).1);
    assert_eq!((shape(&tree).as_str(), weight(&tree, 'A')), ("A. B.", 16.0));
}

#[test]
fn a_stream_that_depends_on_itself_stays_where_it_is() {
    let mut tree = tree("A. BA");
    say(&mut tree, "BB");
    assert_eq!(shape(&tree), "A. BA");
    tree.insert(id('C'), dependency("CC!", 99).1);
    assert_eq!(shape(&tree), "A. BA C.");
    assert_eq!(weight(&tree, 'C'), 16.0);
}

#[test]
fn an_idle_stream_groups_others_and_keeps_its_place_when_it_opens() {
    let mut tree = DependencyTree::new();
    say(&mut tree, "G.");
    for text in ["AG", "BG"] {
        let (stream, priority) = dependency(text, 16);
        tree.insert(stream, priority);
        tree.ready(stream);
    }
    tree.insert(id('C'), Priority::Unset);
    tree.ready(id('C'));
    assert_eq!(order(&mut tree, 8), "ACBCACBC");
    tree.reprioritise(id('G'), dependency("G.", 48).1);
    tree.insert(id('G'), Priority::Unset);
    assert_eq!((shape(&tree).as_str(), weight(&tree, 'G')), ("AG BG C. G.", 48.0));
    tree.ready(id('G'));
    let order = order(&mut tree, 400);
    assert_eq!(order.matches('G').count(), 300);
    assert!(!order.contains(['A', 'B']), "a parent goes before its children");
}

#[test]
fn one_exclusive_stream_after_another_makes_a_chain() {
    let mut tree = tree("A. B.! C.! D.!");
    assert_eq!(shape(&tree), "AB BC CD D.");
    for stream in ['A', 'B', 'C', 'D'] {
        tree.ready(id(stream));
    }
    assert_eq!(order(&mut tree, 2), "DD");
    tree.blocked(id('D'));
    assert_eq!(order(&mut tree, 2), "CC");
    say(&mut tree, "A.!");
    assert_eq!(shape(&tree), "A. BC CD DA");
    assert_eq!(order(&mut tree, 2), "AA");
}

#[test]
fn moving_back_and_forth_makes_no_loop() {
    let mut tree = tree("A. BA CB DC");
    for text in ["AD", "BA!", "CB", "DA", "AC!", "CD", "DB!", "BC"] {
        say(&mut tree, text);
        for stream in ('A'..='D').map(id) {
            let mut above = stream;
            for _ in 0..4 {
                above = tree.dependency(above).map_or(StreamId(0), |(parent, _)| parent);
            }
            assert_eq!(above, StreamId(0), "after {text}: {}", shape(&tree));
        }
    }
}

#[test]
fn dependencies_that_the_peer_has_ruled_out_are_ignored() {
    let mut tree = tree("A. B.");
    tree.peer_sends_no_dependencies();
    say(&mut tree, "AB!");
    say(&mut tree, "ZA");
    tree.insert(id('C'), dependency("CA", 1).1);
    assert_eq!(shape(&tree), "A. B. C.");
}

#[test]
fn a_hundred_thousand_idle_and_closed_streams_are_bounded() {
    let mut tree = DependencyTree::new();
    tree.insert(StreamId(1), Priority::Unset);
    tree.ready(StreamId(1));
    for at in 1..=100_000_u64 {
        let exclusive = if at % 3 == 0 { Exclusive::Sole } else { Exclusive::Shared };
        let (idle, opened) = (StreamId(4 * at + 1), StreamId(4 * at + 3));
        let parent = StreamId(if at % 5 == 0 { 0 } else { 4 * (at - at % 7) + 1 });
        let priority = Priority::Dependency { parent, weight: (at % 256) as u16 + 1, exclusive };
        tree.reprioritise(idle, priority);
        tree.reprioritise(opened, priority);
        tree.insert(opened, Priority::Unset);
        tree.ready(opened);
        tree.remove(opened);
    }
    assert!(tree.nodes.capacity() <= 2 * RETAINED + 8, "{} nodes", tree.nodes.capacity());
    assert!(tree.idle.len() + tree.closed.len() <= 2 * RETAINED);
    // Stream 1 may have come to depend on retained streams; nobody else is ready.
    assert_eq!(tree.next(), Some(StreamId(1)));
}
