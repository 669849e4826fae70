//! Policies as users write them.

use super::named::BUILTIN_POLICIES;
use super::*;
use origin::{Assets, ByLink, CasperSettings, Files, Heed, LearnedSettings, PushPlace, Urgency};
use proto::schedule::Incremental;

#[test]
fn every_policy_can_be_named() {
    for policy in Policy::ALL {
        let read = PolicyFile::parse(&format!("priorities = \"{policy}\"")).unwrap();
        assert_eq!(read.priorities, Some(policy));
    }
    assert_eq!(PolicyFile::parse("# nothing\n").unwrap(), PolicyFile::default());
}

#[test]
fn a_mistake_is_told_with_its_place() {
    let fault = PolicyFile::parse("\npriorities = \"lifo\"").unwrap_err();
    assert_eq!(line_and_column("\npriorities = \"lifo\"", fault.span.start), (2, 14));
    assert!(fault.words.contains("round-robin"), "{}", fault.words);
    let unknown = PolicyFile::parse("priority = \"fifo\"").unwrap_err();
    assert!(unknown.words.contains("unknown field"), "{}", unknown.words);
    assert!(PolicyFile::parse("priorities = 3").is_err());
}

#[test]
fn the_example_of_the_documentation_says_what_it_shows() {
    let page = include_str!("../../../../../docs/delivery.md");
    let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let read = PolicyFile::parse(example).unwrap();
    assert_eq!(read.priorities, Some(Policy::ServerDriven));
    let delivery = read.delivery.unwrap();
    assert_eq!(delivery.push.by_link, ByLink::Pushed);
    assert_eq!(delivery.push.place, PushPlace::Before);
    assert_eq!(delivery.casper, Some(CasperSettings::default()));
    let [page, hero, video] = &delivery.rules[..] else { panic!("{:?}", delivery.rules) };
    assert_eq!(page.push, ["/style.css", "/app.js"]);
    assert_eq!((page.hints.len(), page.links.len()), (1, 2));
    assert!(video.media_type.as_ref().is_some_and(|glob| glob.matches_media_type("video/mp4")));
    assert_eq!(delivery.push.most_bytes, Some(300_000));
    assert_eq!(delivery.push.cache_digest, Heed::Heeded);
    let blocking = Assets::Blocking;
    let learned = LearnedSettings { push: blocking, hints: blocking, links: blocking };
    assert_eq!(delivery.learned, learned);
    let incremental = Incremental::Parts;
    assert_eq!(hero.urgency, Some(Urgency { urgency: 2, incremental }));
    assert!(hero.path.as_ref().is_some_and(|path| path.matches_path("/img/hero-2.avif")));
}

#[test]
fn each_key_with_a_wrong_value_is_told_with_its_line_and_column() {
    for (text, place, words) in [
        ("[push]\nplace = \"first\"", (2, 9), "interleaved"),
        ("[push]\nmost = -1", (2, 8), "-1"),
        ("[casper]\ncapacity_bits = 17", (2, 17), "6 to 16"),
        ("[casper]\nassets = 100", (1, 1), "one_in"),
        ("[casper]\nassets = 0\none_in = 80", (2, 10), "0"),
        ("[casper]\nassets = 100\none_in = 0", (3, 10), "0"),
        ("[casper]\nassets = 1000\none_in = 1000", (1, 1), "16 bits"),
        ("[casper]\ntracking = \"css\"", (2, 12), "blocking-assets, all"),
        ("[[rules]]\npath = \"/[a]\"", (2, 8), "brackets"),
        ("[[rules]]\nhost = \"\"", (2, 8), "not empty"),
        ("[[rules]]\npush = [\"/a\", \"https://b/c\"]", (2, 15), "same host"),
        ("[[rules]]\npush = [\"//b/c\"]", (2, 9), "same host"),
        ("[[rules]]\nhints = [\"/a.css\"]", (2, 10), "rel=preload"),
        ("[[rules]]\nurgency = 8", (2, 11), "0 (first)"),
        ("[[rules]]\nincremental = true", (2, 15), "beside an urgency"),
        ("[[rules]]\nglob = \"/\"", (2, 1), "unknown field"),
        ("rules = 3", (1, 9), "sequence"),
        ("[learned]\npush = \"css\"", (2, 8), "blocking-assets, all"),
        ("[[rules]]\ntype = \"image/[a]\"", (2, 8), "brackets"),
        ("[[rules]]\nhost = \"localhost:8443\"", (2, 8), "without their port"),
        ("[[rules]]\nhost = \"localhost:*\"", (2, 8), "without their port"),
        ("[[rules]]\npath = \"index.html\"", (2, 8), "begins with its slash"),
        ("[[rules]]\npath = \"*.html\"", (2, 8), "begins with its slash"),
        ("[[rules]]\ntype = \"text\"", (2, 8), "text/*"),
        ("[[rules]]\ntype = \"*\"", (2, 8), "text/*"),
    ] {
        let fault = PolicyFile::parse(text).unwrap_err();
        assert_eq!(line_and_column(text, fault.span.start), place, "{text}: {fault:?}");
        assert!(fault.words.contains(words), "{text}: {}", fault.words);
    }
}

#[test]
fn a_push_of_what_is_not_there_is_told_before_anything_is_served() {
    struct OneFile;
    impl Files for OneFile {
        fn find(&self, _: Instant, path: &str) -> Result<origin::Found, origin::FilesError> {
            match path {
                "sub" => Ok(origin::Found::Folder),
                _ => Err(origin::FilesError::NotFound),
            }
        }
    }
    let check = |path: &str| {
        let text = format!("[[rules]]\npush = [\"{path}\"]");
        PolicyFile::parse(&text).unwrap().check_pushes(PushCheck::new(Box::new(OneFile)))
    };
    assert!(check("/image/1?bytes=5").is_ok());
    for (path, words) in [("/a.css", "404"), ("/sub", "301"), ("/ws/echo", "no plain")] {
        let fault = check(path).unwrap_err();
        assert_eq!(fault.span.start, "[[rules]]\npush = [".len());
        assert!(fault.words.contains(words), "{}", fault.words);
    }
}

#[test]
fn every_built_in_policy_can_be_read_and_says_what_it_does() {
    for policy in BUILTIN_POLICIES {
        let read = PolicyText::find(Path::new(policy.name)).and_then(|text| text.read()).unwrap();
        assert!(policy.toml.starts_with("# "), "{}", policy.name);
        assert!(!policy.title().is_empty() && policy.title().len() < 110, "{}", policy.name);
        let does_nothing = read == PolicyFile::default();
        assert_eq!(does_nothing, policy.name == "none", "{}", policy.name);
    }
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies")).unwrap();
    let mut files: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    let mut names: Vec<_> =
        BUILTIN_POLICIES.iter().map(|policy| format!("{}.toml", policy.name)).collect();
    names.sort();
    assert_eq!(files, names);
    let page = include_str!("../../../../../docs/delivery.md");
    for policy in BUILTIN_POLICIES {
        assert!(page.contains(&format!("| `{}` |", policy.name)), "{}", policy.name);
    }
}

/// Names of built-in policies and of synthetic pages' parts are in two crates.
#[test]
fn the_policy_for_heroes_knows_that_of_a_synthetic_page_from_its_other_images() {
    let policy = PolicyText::find(Path::new("hero-first")).and_then(|text| text.read()).unwrap();
    let rules = policy.delivery.unwrap().rules;
    let [rule] = &rules[..] else { panic!("{rules:?}") };
    let page: page::Synthetic =
        "/page?images=3&bytes=60000&below_fold=3&hero=60000".parse().unwrap();
    let page = page.page(&"http://far/".parse().unwrap()).unwrap();
    let urls = page.resources().iter().map(|resource| resource.url.path.as_str());
    let glob = rule.path.as_ref().unwrap();
    for path in ["/img/hero.jpg", "/hero/1.jpg", "/a/b/hero-2/x/1.avif?v=1"] {
        assert!(glob.matches_path(path), "{path}");
    }
    let heroes: Vec<&str> = urls.filter(|path| glob.matches_path(path)).collect();
    assert!(matches!(heroes[..], [hero] if hero.starts_with("/picture/hero")), "{heroes:?}");
    assert!(rule.media_type.as_ref().is_some_and(|glob| glob.matches_media_type("image/png")));
    assert_eq!(rule.urgency, Some(Urgency { urgency: 2, incremental: Incremental::Whole }));
}

#[test]
fn an_unknown_policy_is_told_those_that_there_are() {
    let error = PolicyText::find(Path::new("pusj")).map(drop).unwrap_err().to_string();
    assert!(error.contains("no policy is called `pusj`"), "{error}");
    assert!(error.contains("did you mean `push`?") && error.contains("early-hints"), "{error}");
}

#[test]
fn a_fault_in_a_contenders_policy_is_told_with_its_place_in_the_experiment() {
    let place = |text: &str| {
        let fault = check_choices(text).unwrap_err();
        (fault.place(text), fault.to_string())
    };
    let (at, words) = place("[[contenders]]\nsettings = { policy = \"pusj\" }");
    assert_eq!(at, (2, 23));
    assert!(words.contains("did you mean `push`?"), "{words}");
    let (at, words) = place(
        "[[contenders]]\n[contenders.settings.policy]\n[contenders.settings.policy.push]\nplace = \"first\"",
    );
    assert_eq!(at, (4, 9));
    assert!(words.contains("interleaved"), "{words}");
    let (at, words) = place("[[contenders]]\nsettings = { policy = { pusj = 1 } }");
    assert_eq!(at, (2, 25));
    assert!(words.contains("unknown field"), "{words}");
    for fine in ["\"push\"", "\"mine.toml\"", "{ priorities = \"fifo\" }"] {
        let text = format!("[[contenders]]\nsettings = {{ policy = {fine} }}");
        assert!(check_choices(&text).is_ok(), "{fine}");
    }
}

#[test]
fn the_keys_of_a_contender_are_read_as_a_file_is() {
    let text =
        "[learned]\npush = \"blocking-assets\"\n[[rules]]\ntype = \"image/*\"\nurgency = 5\n";
    let keys = toml::from_str(text).unwrap();
    let of_keys = PolicyText::of_choice(&PolicyChoice::Keys(keys), Path::new("")).unwrap();
    assert_eq!(of_keys.read().unwrap(), PolicyFile::parse(text).unwrap());
    let delivery = of_keys.read().unwrap().delivery.unwrap();
    assert_eq!(delivery.learned.push, Assets::Blocking);
    assert!(delivery.rules[0].media_type.is_some());
}

#[test]
fn a_policy_of_which_a_contender_takes_nothing_is_refused() {
    let check = |contender: &str| {
        let text = format!(
            "name = \"p\"\ntitle = \"p\"\nquestion = \"?\"\n[[workloads]]\nkind = \"page\"\nimages = 1\nbytes = \"1kB\"\n\
             [[links]]\nname = \"l\"\nfigures = \"rtt=1ms\"\ntrials = 2\n[[contenders]]\nname = \"one\"\n{contender}"
        );
        check_effects(&text.parse::<Experiment>().unwrap()).map_err(|error| error.to_string())
    };
    for fine in [
        "transport = \"h2\"\nsettings = { policy = \"push\", push = true }",
        "transport = \"spdy/3.1\"\nsettings = { policy = \"push-casper\", push = true }",
        "transport = \"h3\"\nsettings = { policy = \"early-hints\" }",
        // Links are for all, and who sends next is the server's alone.
        "transport = \"http/1.1\"\nsettings = { policy = \"rules-of-thumb\" }",
        "transport = \"h3\"\nsettings = { policy = \"h2o-2015\" }",
        "transport = \"h2\"\nsettings = { policy = \"none\" }",
        "transport = \"h2\"\nserver = \"nginx\"\nsettings = { policy = \"push\" }",
        "transport = \"spdy/3.1\"\nsettings = { policy = { rules = [{ path = \"/a\", urgency = 2 }] } }",
        // What another's client takes is not known.
        "transport = \"h2\"\nclient = \"curl\"\nsettings = { policy = \"push\" }",
    ] {
        assert_eq!(check(fine), Ok(()), "{fine}");
    }
    for (vain, needs) in [
        ("transport = \"h2\"\nsettings = { policy = \"push\" }", "push = true"),
        ("transport = \"h3\"\nsettings = { policy = \"push\" }", "over h2 or SPDY"),
        ("transport = \"spdy/3.1\"\nsettings = { policy = \"early-hints\" }", "h2 or h3"),
        ("transport = \"http/1.1\"\nsettings = { policy = \"early-hints\" }", "h2 or h3"),
        (
            "transport = \"h2\"\nsettings = { policy = \"early-hints\", early_hints = false }",
            "early_hints",
        ),
        (
            "transport = \"h3\"\nsettings = { policy = { push = { by_link = true } } }",
            "push = true",
        ),
        (
            "transport = \"http/1.1\"\nsettings = { policy = \"server-driven\" }",
            "share a connection",
        ),
        (
            "transport = \"http/1.1\"\nclient = \"curl\"\nsettings = { policy = \"server-driven\" }",
            "share a connection",
        ),
        (
            "transport = \"http/1.1\"\nsettings = { policy = { rules = [{ path = \"/a\", urgency = 2 }] } }",
            "share a connection",
        ),
        (
            "transport = \"h2\"\nsettings = { policy = { push = { place = \"after\" }, casper = {} } }",
            "names nothing",
        ),
        ("transport = \"h3\"\nsettings = { policy = { priorities = \"rfc7540\" } }", "needs h2"),
    ] {
        let error = check(vain).unwrap_err();
        assert!(error.contains("one") && error.contains(needs), "{vain}: {error}");
    }
}
