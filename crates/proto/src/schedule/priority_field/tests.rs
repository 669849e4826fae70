//! Values from RFC 9218 and RFC 9651, legal and not, and what becomes of them.

use super::*;
use proptest::prelude::*;

const PARTS: Option<Incremental> = Some(Incremental::Parts);
const WHOLE: Option<Incremental> = Some(Incremental::Whole);

/// Values and what they say. The comments name the section that decides.
const CASES: &[(&str, Option<u8>, Option<Incremental>)] = &[
    // RFC 9218's own examples: §4.1, §4.2, §5, §8.
    ("u=0", Some(0), None),
    ("u=5, i", Some(5), PARTS),
    ("u=1", Some(1), None),
    ("i", None, PARTS),
    ("", None, None),
    // RFC 9651 §3.2 and §4.2.2: order, white space, explicit booleans.
    ("i,u=2", Some(2), PARTS),
    ("i=?1", None, PARTS),
    ("i=?0", None, WHOLE),
    ("  u=7  ,\t i=?0  ", Some(7), WHOLE),
    // §3.2: of equal keys the last counts, whatever the first was.
    ("u=1, u=2", Some(2), None),
    ("u=1, u=high", None, None),
    ("u=high, u=1", Some(1), None),
    ("i, i=?0", None, WHOLE),
    // RFC 9218 §4: out of range, of another type or unknown: that parameter alone is ignored.
    ("u=8, i", None, PARTS),
    ("u=-1, i", None, PARTS),
    ("u=999999999999999, i", None, PARTS),
    ("u=1.0, i", None, PARTS),
    ("u, i", None, PARTS),
    ("u=\"1\", i", None, PARTS),
    ("u=?1, i", None, PARTS),
    ("u=2, i=1", Some(2), None),
    ("u=2, i=yes", Some(2), None),
    ("u=2, foo, bar=baz, x-1_y.z*=1", Some(2), None),
    ("*=1, u=4", Some(4), None),
    // RFC 9651 §3.1.2: parameters belong to their member.
    ("u=2;u=5;i", Some(2), None),
    ("u=2; q=0.5 , i;x=\"a,b;c\"", Some(2), PARTS),
    ("u;x=1=2", None, None),
    // §3.1.1: inner lists.
    ("u=(1 2), i", None, PARTS),
    ("a=(), b=( \"x,y\";p  tok:/en ;q ), u=6", None, None),
    ("a=(), b=( \"x,y\";p  tok:/en;q ), u=6", Some(6), None),
    ("u=1, a=(1 2", None, None),
    ("u=1, a=(1,2)", None, None),
    ("u=1, a=((1))", None, None),
    // §3.3: every other type.
    ("a=\"say \\\"u=0\\\" \\\\\", u=4", Some(4), None),
    ("a=:aGVsbG8=:, b=:aGVsbG8:, c=::, u=4", Some(4), None),
    ("a=@1659578233, b=@-1, u=4", Some(4), None),
    ("a=%\"f%c3%bc%22\", u=4", Some(4), None),
    ("a=123456789012.123, b=-0.5, u=4", Some(4), None),
    ("a=*to!k#e$n%&'*+-.^_`|~:/9, u=4", Some(4), None),
    // What fails to parse fails as a whole (RFC 9651 §4.2: the field is ignored).
    ("u=1,", None, None),
    (",u=1", None, None),
    ("u=1,,i", None, None),
    ("u=1 i", None, None),
    ("u =1", None, None),
    ("u= 1", None, None),
    ("U=1", None, None),
    ("1=1, u=1", None, None),
    ("u=1, i=", None, None),
    ("u=1, i=?2", None, None),
    ("u=1, i=?", None, None),
    ("u=1, a=1.", None, None),
    ("u=1, a=1.2345", None, None),
    ("u=1, a=1234567890123456", None, None),
    ("u=1, a=1234567890123.1", None, None),
    ("u=1, a=--1", None, None),
    ("u=1, a=\"open", None, None),
    ("u=1, a=\"bad \\n\"", None, None),
    ("u=1, a=\"\t\"", None, None),
    ("u=1, a=:a:", None, None),
    ("u=1, a=:aGVs=:", None, None),
    ("u=1, a=:aGVsbG8=", None, None),
    ("u=1, a=@1.5", None, None),
    ("u=1, a=%\"%C3%BC\"", None, None),
    ("u=1, a=%\"%c3\"", None, None),
    ("u=1, a=%\"%ff\"", None, None),
    ("u=1, a=\u{fc}", None, None),
    ("\tu=1", None, None),
    ("u=1\0", None, None),
];

#[test]
fn values_of_the_rfcs_say_what_the_rfcs_say() {
    for &(value, urgency, incremental) in CASES {
        let field = PriorityField { urgency, incremental };
        assert_eq!(PriorityField::parse(value.as_bytes()), field, "{value:?}");
    }
}

#[test]
fn what_the_response_does_not_say_keeps_the_clients_value() {
    let merge = |request: &str, response: &str| {
        let [request, response] = [request, response].map(|v| PriorityField::parse(v.as_bytes()));
        request.merge(response).to_string()
    };
    // RFC 9218 §8's example.
    assert_eq!(merge("u=5, i", "u=1"), "u=1, i");
    assert_eq!(merge("u=5, i", "i=?0"), "u=5, i=?0");
    assert_eq!(merge("u=5, i", ""), "u=5, i");
    assert_eq!(merge("", "u=2, i"), "u=2, i");
    assert_eq!(merge("u=5, i", "u=0, i=?0"), "u=0, i=?0");
    assert_eq!(merge("u=5, i", "u=9, i=maybe"), "u=5, i", "what is ignored is not said");
    assert_eq!(merge("u=5", "u=1,"), "u=5", "a field that does not parse says nothing");
    assert_eq!(merge("", ""), "");
}

#[test]
fn what_is_not_said_has_the_default() {
    let priority = |value: &str| PriorityField::parse(value.as_bytes()).priority();
    let urgency = |urgency, incremental| Priority::Urgency { urgency, incremental };
    assert_eq!(priority(""), urgency(3, Incremental::Whole));
    assert_eq!(priority("i"), urgency(3, Incremental::Parts));
    assert_eq!(priority("u=0"), urgency(0, Incremental::Whole));
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(urgency in prop::option::of(0..8_u8), parts in prop::option::of(any::<bool>())) {
        let incremental = parts.map(|parts| if parts { Incremental::Parts } else { Incremental::Whole });
        let field = PriorityField { urgency, incremental };
        prop_assert_eq!(PriorityField::parse(field.to_string().as_bytes()), field);
    }

    #[test]
    fn no_bytes_make_it_panic(value in prop::collection::vec(any::<u8>(), 0..200)) {
        let field = PriorityField::parse(&value);
        prop_assert!(field.urgency.is_none_or(|urgency| urgency <= 7));
    }

    #[test]
    fn nearly_good_values_do_not_make_it_panic(value in "[ui=?01 ,;()\"%:@a.\\\\-]{0,60}") {
        PriorityField::parse(value.as_bytes());
    }

    #[test]
    fn a_broken_member_takes_all_others_with_it(member in "[a-z]=[(]{1,9}") {
        for value in [format!("u=1, i, {member}"), format!("{member}, u=1, i")] {
            prop_assert_eq!(PriorityField::parse(value.as_bytes()), PriorityField::default());
        }
    }
}
