//! What browsers' developer tools write otherwise than HAR 1.2 has it.

use super::*;

#[test]
fn a_connection_is_told_by_its_number_and_not_by_the_port_of_the_server() {
    let shared = |more: &dyn Fn(&str) -> &'static str| {
        let entry = |host: &str, start: u64| {
            let answer = r#""status":200,"bodySize":9,"httpVersion":"h2""#;
            let entry = asked("GET", &format!("https://{host}/"), start, answer);
            format!("{entry},{}", more(host))
        };
        let entries = [entry("a", 0), entry("b", 10), entry("c:8443", 20)];
        read(&file_of(LOADED, &entries)).page.shared_hosts()
    };
    let apart = [vec!["a"], vec!["b"], vec!["c"]];
    // Firefox.
    let ports = |host: &str| match host {
        "c:8443" => r#""connection":"8443""#,
        _ => r#""connection":"443""#,
    };
    assert_eq!(shared(&ports), apart);
    // Chrome.
    let numbers = |host: &str| match host {
        "b" => r#""connection":"443","_connectionId":"78""#,
        _ => r#""connection":"443","_connectionId":77"#,
    };
    assert_eq!(shared(&numbers), [vec!["a", "c"], vec!["b"]]);
    // Chrome, before it wrote `_connectionId`.
    assert_eq!(shared(&|_| r#""connection":"77""#), [vec!["a", "b", "c"]]);
}

#[test]
fn an_image_that_was_raised_begins_as_images_do() {
    let of = |name: &str, kind: &str, start: u64, rank: &str| {
        let mime = format!(r#""status":200,"bodySize":9,"content":{{"mimeType":"{kind}"}}"#);
        let entry = asked("GET", &format!("http://a/{name}"), start, &mime);
        format!(r#"{entry},"_priority":"{rank}""#)
    };
    let entries = [
        get("http://a/", 0),
        of("hero.png", "image/png", 10, "High"),
        of("small.png", "image/png", 20, "Medium"),
        of("app.js", "text/javascript", 30, "High"),
    ];
    let file = file_of(LOADED, &entries);
    let recording = read(&file);
    let hint = |path: &str| at(&recording, path).hint;
    assert_eq!(hint("/hero.png"), Hint::None);
    assert_eq!(hint("/small.png"), Hint::Recorded(Rank::Medium));
    assert_eq!(hint("/app.js"), Hint::Recorded(Rank::High));
    assert_eq!(recording.assumptions.images_raised, 1);
    // `wirelap record` writes the first one.
    let site = String::from_utf8(file).unwrap().replacen('{', r#"{"wirelap_site":1,"#, 1);
    let site = read(site.as_bytes());
    assert_eq!(at(&site, "/hero.png").hint, Hint::Recorded(Rank::High));
    assert_eq!(site.assumptions.images_raised, 0);
}

#[test]
fn a_body_that_was_not_kept_is_as_long_as_its_content_length() {
    let upload = asked("POST", "http://a/upload", 100, r#""status":200,"bodySize":20"#).replace(
        r#""url":"http://a/upload""#,
        r#""url":"http://a/upload","bodySize":0,"headers":[{"name":"Content-Length","value":"5000"}]"#,
    );
    let empty = asked("POST", "http://a/ping", 110, r#""status":204"#)
        .replace(r#""url":"http://a/ping""#, r#""url":"http://a/ping","bodySize":0"#);
    let recording = read(&file_of(LOADED, &[get("http://a/", 0), upload, empty]));
    assert_eq!(at(&recording, "/upload").asked.body, ByteSize(5_000));
    assert_eq!(at(&recording, "/ping").asked.body, ByteSize::ZERO);
    assert_eq!(recording.assumptions.upload_bytes, 5_000);
}

#[test]
fn cookies_that_are_left_out_are_told_with_their_bytes() {
    let with_cookies = asked("GET", "http://a/mine", 100, r#""status":200,"bodySize":20"#).replace(
        r#""url":"http://a/mine""#,
        r#""url":"http://a/mine","headers":[{"name":"Cookie","value":"a=1"},{"name":"cookie","value":"b=234"}]"#,
    );
    let recording = read(&file_of(LOADED, &[get("http://a/", 0), with_cookies]));
    assert!(at(&recording, "/mine").asked.fields.is_empty());
    let told = recording.assumptions.to_string();
    assert!(told.contains("1 request had cookies (8 B in all), which are left out."), "{told}");
}

#[test]
fn what_is_not_to_be_used_again_says_so_in_a_replay() {
    let says = |path: &str, start: u64, control: &str| {
        let answer = format!(
            r#""status":200,"bodySize":20,"headers":[{{"name":"Cache-Control","value":"{control}"}},{{"name":"ETag","value":"\"x\""}}]"#
        );
        asked("GET", &format!("http://a{path}"), start, &answer)
    };
    let entries = [
        get("http://a/", 0),
        says("/beacon", 10, "private, No-Store, no-cache, max-age=0"),
        says("/cart", 20, r"max-age=0\nprivate"),
        says("/feed", 30, "no-cache"),
        says("/logo.png", 40, "public, max-age=31536000"),
    ];
    let recording = read(&file_of(LOADED, &entries));
    let control = |path: &str| at(&recording, path).answered.field("cache-control");
    assert_eq!(control("/beacon"), Some("no-store"));
    assert_eq!(control("/cart"), Some("no-cache"));
    assert_eq!(control("/feed"), Some("no-cache"));
    assert!(at(&recording, "/logo.png").answered.is_plain(), "a file server can answer it");
}
