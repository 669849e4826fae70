//! Downloads in virtual time: ranges, resumption, retries, and servers that break every promise.

use crate::world::{Listener, Reply, Seen, Speaks, Unasked, World, config};
use client::{
    Beginning, Client, ClientConfig, Download, DownloadSettings, FileId, Joins, Kept, Note,
    Refusal, Report, Retry, Sink, Transport, Version, Wanted,
};
use proto::{Fields, Status};
use std::time::Duration;
use unit::{Ranges, Seed};

/// What a sink has seen of one file.
#[derive(Debug, Default, Clone)]
struct Stored {
    bytes: Vec<u8>,
    begun: u32,
    complete: Option<u64>,
    given_up: bool,
}

/// Keeps files in memory, and offers a buffer of `buffer_size` bytes for what comes next (0: none).
#[derive(Debug)]
struct Memory {
    files: Vec<Stored>,
    notes: Vec<String>,
    buffer_size: usize,
    /// Refuses bytes from this place on.
    full_at: u64,
}

impl Memory {
    fn new(files: usize) -> Self {
        let (buffer_size, full_at) = (0, u64::MAX);
        Self { files: vec![Stored::default(); files], notes: Vec::new(), buffer_size, full_at }
    }
}

impl Sink for Memory {
    fn begin(&mut self, file: FileId, beginning: Beginning<'_>) -> Result<(), Refusal> {
        let stored = &mut self.files[file.0];
        stored.begun += 1;
        if beginning.kept.is_empty() {
            stored.bytes.clear();
        }
        Ok(())
    }

    fn write(&mut self, file: FileId, at: u64, bytes: &[u8]) -> Result<(), Refusal> {
        let end = at as usize + bytes.len();
        if end as u64 > self.full_at {
            return Err(Refusal("the disk is full".to_owned()));
        }
        let stored = &mut self.files[file.0].bytes;
        stored.resize(stored.len().max(end), 0);
        stored[at as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn receive_buffer(&mut self, file: FileId, at: u64, at_most: u64) -> Option<&mut [u8]> {
        let size = self.buffer_size.min(at_most as usize);
        let end = at as usize + size;
        let stored = &mut self.files[file.0].bytes;
        stored.resize(stored.len().max(end), 0);
        (size > 0).then(|| &mut stored[at as usize..end])
    }

    fn complete(&mut self, file: FileId, length: u64) -> Result<(), Refusal> {
        self.files[file.0].complete = Some(length);
        Ok(())
    }

    fn give_up(&mut self, file: FileId) {
        self.files[file.0].given_up = true;
    }

    fn note(&mut self, _file: FileId, note: &Note<'_>) {
        self.notes.push(format!("{note:?}"));
    }
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 31 + index / 256) as u8).collect()
}

/// Answers as RFC 9110 §14 says, for the version `tag` of `body`.
fn serve(seen: &Seen, tag: &str, body: &[u8]) -> (Status, Fields, Vec<u8>) {
    let fields = Fields::new().with("ETag", tag);
    let range = seen.head.fields.find_str("range");
    let same = seen.head.fields.find_str("if-range").is_none_or(|value| value == tag);
    let Some(range) = range.filter(|_| same) else {
        return (Status::OK, fields, body.to_vec());
    };
    let (first, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    let first: usize = first.parse().unwrap();
    let end = last.parse().map_or(body.len(), |last: usize| (last + 1).min(body.len()));
    if first >= body.len() {
        let value = format!("bytes */{}", body.len());
        return (Status::new(416).unwrap(), fields.with("Content-Range", value), Vec::new());
    }
    let value = format!("bytes {first}-{}/{}", end - 1, body.len());
    let fields = fields.with("Content-Range", value);
    (Status::new(206).unwrap(), fields, body[first..end].to_vec())
}

fn whole(seen: &Seen, tag: &str, body: &[u8]) -> Reply {
    let (status, fields, body) = serve(seen, tag, body);
    Reply::Whole(status, fields, body)
}

fn cut(seen: &Seen, tag: &str, body: &[u8]) -> Reply {
    let (status, fields, body) = serve(seen, tag, body);
    Reply::Cut(status, fields, body)
}

fn status(code: u16) -> Reply {
    Reply::Whole(Status::new(code).unwrap(), Fields::new(), b"sorry".to_vec())
}

fn wanted(count: usize) -> Vec<Wanted> {
    let url = |n| format!("http://a.test/{n}").parse().unwrap();
    (0..count)
        .map(|n| Wanted {
            url: url(n),
            fields: Fields::new(),
            kept: None,
            joins: Joins::Validated,
            slice: None,
        })
        .collect()
}

struct Ran {
    reports: Vec<Report>,
    sink: Memory,
}

impl Ran {
    fn of(world: &mut World, config: ClientConfig, download: Download<Memory>) -> Self {
        let client = world.run(Client::new(config, download));
        let reports = client.work().reports().cloned().collect();
        Self { reports, sink: client.into_work().into_sink() }
    }

    fn holds(&self, index: usize, body: &[u8]) {
        let stored = &self.sink.files[index];
        assert_eq!(self.reports[index].failure, None, "{:?}", self.sink.notes);
        assert_eq!(stored.complete, Some(body.len() as u64));
        assert!(stored.bytes == body, "the content is another");
    }

    fn failed(&self, index: usize, words: &str) {
        let why = self.reports[index].failure.as_deref().unwrap_or_default();
        assert!(why.contains(words), "no {words:?} in {why:?}");
        assert!(self.sink.files[index].given_up);
        assert_eq!(self.sink.files[index].complete, None);
    }
}

fn run(
    settings: DownloadSettings,
    wanted: Vec<Wanted>,
    script: impl FnMut(&Seen) -> Reply + 'static,
) -> (Ran, World) {
    let mut world = World::new(Listener::Clear(Speaks::Http1), script);
    let mut config = config(Transport::H1);
    config.limits.per_origin = settings.connections;
    let sink = Memory::new(wanted.len());
    let ran = Ran::of(&mut world, config, Download::new(settings, wanted, sink));
    (ran, world)
}

fn one(script: impl FnMut(&Seen) -> Reply + 'static) -> (Ran, World) {
    run(DownloadSettings::default(), wanted(1), script)
}

fn ranges(world: &World) -> Vec<String> {
    let range = |seen: &Seen| seen.head.fields.find_str("range").unwrap_or("-").to_owned();
    world.seen.iter().map(range).collect()
}

#[test]
fn a_file_comes_whole_in_one_request() {
    let body = content(100_000);
    let (ran, world) = one(move |seen| whole(seen, "\"a\"", &content(100_000)));
    ran.holds(0, &body);
    assert_eq!(ranges(&world), ["-"]);
    assert_eq!(ran.reports[0].retries, 0);
    assert_eq!(ran.reports[0].received, 100_000);
}

#[test]
fn a_buffer_of_the_sinks_own_is_filled_without_a_copy_on_the_way() {
    for buffer_size in [1, 1_000, 4_096, 1 << 20] {
        let mut world = World::new(Listener::Clear(Speaks::Http1), |seen| {
            whole(seen, "\"a\"", &content(90_000))
        });
        world.piece = 7_777;
        let sink = Memory { buffer_size, ..Memory::new(2) };
        let download = Download::new(DownloadSettings::default(), wanted(2), sink);
        let ran = Ran::of(&mut world, config(Transport::H1), download);
        ran.holds(0, &content(90_000));
        ran.holds(1, &content(90_000));
        assert_eq!(ran.reports[1].received, 90_000);
    }
}

#[test]
fn what_is_missing_after_a_broken_connection_is_asked_for() {
    let (ran, world) = one(|seen| match seen.connection {
        0 | 1 => cut(seen, "\"a\"", &content(80_000)),
        _ => whole(seen, "\"a\"", &content(80_000)),
    });
    ran.holds(0, &content(80_000));
    assert_eq!(ranges(&world), ["-", "bytes=40000-", "bytes=60000-"]);
    assert_eq!(world.seen[1].head.fields.find_str("if-range"), Some("\"a\""));
    assert_eq!((ran.reports[0].retries, ran.reports[0].received), (2, 80_000));
    assert_eq!(ran.sink.files[0].begun, 1);
}

#[test]
fn a_version_that_changed_meanwhile_begins_anew() {
    let (ran, world) = one(|seen| match seen.connection {
        0 => cut(seen, "\"a\"", &content(80_000)),
        _ => whole(seen, "\"b\"", &content(50_000)),
    });
    ran.holds(0, &content(50_000));
    assert_eq!(ranges(&world), ["-", "bytes=40000-"]);
    assert_eq!(ran.sink.files[0].begun, 2);
    assert!(ran.sink.notes.iter().any(|note| note.contains("Anew")), "{:?}", ran.sink.notes);
}

#[test]
fn without_a_validator_nothing_is_put_together() {
    let (ran, world) = one(|seen| match seen.connection {
        0 => Reply::Cut(Status::OK, Fields::new(), content(80_000)),
        _ => Reply::Whole(Status::OK, Fields::new().with("ETag", "W/\"weak\""), content(60_000)),
    });
    ran.holds(0, &content(60_000));
    assert_eq!(ranges(&world), ["-", "-"]);
}

#[test]
fn a_server_that_ignores_ranges_is_taken_whole() {
    let (ran, _) = one(|seen| {
        let fields = Fields::new().with("ETag", "\"a\"");
        match seen.connection {
            0 => Reply::Cut(Status::OK, fields, content(80_000)),
            _ => Reply::Whole(Status::OK, fields, content(80_000)),
        }
    });
    ran.holds(0, &content(80_000));
    assert_eq!(ran.reports[0].received, 120_000);
}

/// Nothing is there to be gone on from, so nothing is asked under a condition that the server could misread.
#[test]
fn after_a_head_without_a_body_the_whole_file_is_taken_at_once() {
    let settings = DownloadSettings {
        retry: Retry { times: 1, ..Retry::default() },
        ..DownloadSettings::default()
    };
    let (ran, world) = run(settings, wanted(1), |seen| {
        let fields = Fields::new().with("ETag", "\"a\"").with("Accept-Ranges", "bytes");
        match seen.connection {
            0 => Reply::Cut(Status::OK, fields, content(1)),
            _ => Reply::Whole(Status::OK, fields, content(1)),
        }
    });
    ran.holds(0, &content(1));
    assert_eq!((world.seen.len(), ran.sink.notes.len()), (2, 1), "{:?}", ran.sink.notes);
    assert_eq!(ranges(&world), ["-", "-"]);
}

#[test]
fn a_server_that_always_cuts_is_given_up_after_the_tries() {
    let settings = DownloadSettings {
        retry: Retry { times: 3, ..Retry::default() },
        ..DownloadSettings::default()
    };
    let (ran, world) =
        run(settings, wanted(1), |_| Reply::Cut(Status::OK, Fields::new(), content(10_000)));
    ran.failed(0, "(tried 4 times)");
    assert_eq!(world.seen.len(), 4);
}

#[test]
fn passing_troubles_are_waited_for_and_lasting_ones_are_not() {
    for code in [408, 429, 500, 502, 503, 504] {
        let (ran, world) = one(move |seen| match seen.turn + seen.connection {
            0 | 1 => status(code),
            _ => whole(seen, "\"a\"", b"there"),
        });
        ran.holds(0, b"there");
        assert_eq!(world.seen.len(), 3, "{code}");
        let rest = world.seen[2].at.since(world.seen[1].at);
        assert!(rest >= Duration::from_millis(500), "{rest:?}");
    }
    for code in [400, 401, 403, 404, 410, 501] {
        let (ran, world) = one(move |_| status(code));
        ran.failed(0, &format!("the server answered {code}"));
        assert_eq!(world.seen.len(), 1);
    }
}

#[test]
fn the_servers_own_rest_is_kept() {
    let (ran, world) = one(|seen| match seen.turn + seen.connection {
        0 => {
            let fields = Fields::new().with("Retry-After", "7");
            Reply::Whole(Status::new(503).unwrap(), fields, Vec::new())
        }
        _ => whole(seen, "\"a\"", b"there"),
    });
    ran.holds(0, b"there");
    assert!(world.seen[1].at.since(world.seen[0].at) >= Duration::from_secs(7));
}

#[test]
fn a_rest_longer_than_the_time_left_is_not_begun() {
    let settings = DownloadSettings {
        retry: Retry { span: Some(Duration::from_secs(5)), ..Retry::default() },
        ..DownloadSettings::default()
    };
    let (ran, world) = run(settings, wanted(1), |_| {
        let fields = Fields::new().with("Retry-After", "3600");
        Reply::Whole(Status::new(503).unwrap(), fields, Vec::new())
    });
    ran.failed(0, "no time left");
    assert_eq!(world.seen.len(), 1);
}

#[test]
fn a_connection_on_which_nothing_comes_is_left_and_gone_on_from() {
    let (ran, world) = one(|seen| match seen.connection {
        0 => {
            let (_, fields, body) = serve(seen, "\"a\"", &content(80_000));
            // Half of it, then nothing: the body's other half never comes.
            let _ = fields;
            Reply::Half(body)
        }
        _ => whole(seen, "\"a\"", &content(80_000)),
    });
    ran.holds(0, &content(80_000));
    assert_eq!(world.opened(), 2);
    assert!(ran.sink.notes[0].contains("nothing came from"), "{:?}", ran.sink.notes);
}

#[test]
fn the_time_of_a_file_ends_whatever_is_under_way() {
    let settings =
        DownloadSettings { max_time: Some(Duration::from_secs(3)), ..DownloadSettings::default() };
    let (ran, world) = run(settings, wanted(1), |_| Reply::Silence);
    ran.failed(0, "not there within 3");
    assert!(world.now.since(world.seen[0].at) < Duration::from_secs(4));
}

#[test]
fn a_refused_connect_is_tried_again_and_then_told() {
    let mut world = World::new(Listener::Refused, |_| Reply::Silence);
    let settings = DownloadSettings {
        retry: Retry { times: 2, ..Retry::default() },
        seed: Seed(3),
        ..DownloadSettings::default()
    };
    let download = Download::new(settings, wanted(1), Memory::new(1));
    let ran = Ran::of(&mut world, config(Transport::H1), download);
    ran.failed(0, "connection refused");
    assert_eq!(world.opened(), 3);
}

#[test]
fn a_large_file_comes_in_pieces_over_several_connections() {
    let settings =
        DownloadSettings { connections: 3, piece: 10_000, ..DownloadSettings::default() };
    let (ran, world) = run(settings, wanted(1), |seen| whole(seen, "\"a\"", &content(64_321)));
    ran.holds(0, &content(64_321));
    assert_eq!(world.opened(), 3);
    assert_eq!(world.seen.len(), 7);
    assert_eq!(ranges(&world)[0], "bytes=0-9999");
    assert_eq!(ran.reports[0].received, 64_321);
}

#[test]
fn pieces_survive_connections_that_break() {
    let settings = DownloadSettings { connections: 4, piece: 8_192, ..DownloadSettings::default() };
    let (ran, _) = run(settings, wanted(1), |seen| match seen.connection {
        1 | 2 | 4 => cut(seen, "\"a\"", &content(200_000)),
        _ => whole(seen, "\"a\"", &content(200_000)),
    });
    ran.holds(0, &content(200_000));
    assert_eq!(ran.reports[0].received, 200_000);
}

/// Eight pieces were six failed tries, and the file was given up before the first pause was over.
#[test]
fn connections_that_break_together_are_one_failed_try() {
    let settings = DownloadSettings { connections: 8, piece: 8_192, ..DownloadSettings::default() };
    let (ran, _) = run(settings, wanted(1), |seen| match seen.connection {
        0..8 => cut(seen, "\"a\"", &content(200_000)),
        _ => whole(seen, "\"a\"", &content(200_000)),
    });
    ran.holds(0, &content(200_000));
    assert_eq!(ran.reports[0].retries, 1);
}

#[test]
fn pieces_of_a_version_that_changes_are_thrown_away() {
    let settings =
        DownloadSettings { connections: 3, piece: 10_000, ..DownloadSettings::default() };
    let mut count = 0;
    let (ran, _) = run(settings, wanted(1), move |seen| {
        count += 1;
        let (tag, length) = if count < 4 { ("\"a\"", 64_000) } else { ("\"b\"", 43_210) };
        whole(seen, tag, &content(length))
    });
    ran.holds(0, &content(43_210));
}

#[test]
fn pieces_without_a_name_of_their_version_are_not_put_together() {
    let settings =
        DownloadSettings { connections: 3, piece: 10_000, ..DownloadSettings::default() };
    let (ran, world) = run(settings, wanted(1), |seen| {
        let (status, _, body) = serve(seen, "\"a\"", &content(30_000));
        let fields = match status.code() {
            206 => Fields::new().with("Content-Range", "bytes 0-9999/30000"),
            _ => Fields::new(),
        };
        Reply::Whole(status, fields, body)
    });
    ran.holds(0, &content(30_000));
    assert_eq!(ranges(&world), ["bytes=0-9999", "-"]);
}

fn kept(text: &str, tag: Option<&str>, length: Option<u64>) -> Vec<Wanted> {
    let ranges: Ranges = text.parse().unwrap();
    let version = Version { length, tag: tag.map(str::to_owned), modified: None };
    vec![Wanted { kept: Some(Kept { ranges, version }), ..wanted(1).remove(0) }]
}

/// A sink that has those bytes already.
fn resumed(
    wanted: Vec<Wanted>,
    connections: usize,
    script: impl FnMut(&Seen) -> Reply + 'static,
) -> (Ran, World) {
    let mut world = World::new(Listener::Clear(Speaks::Http1), script);
    let mut sink = Memory::new(1);
    sink.files[0].bytes = content(80_000);
    let settings = DownloadSettings { connections, piece: 16_384, ..DownloadSettings::default() };
    let ran = Ran::of(&mut world, config(Transport::H1), Download::new(settings, wanted, sink));
    (ran, world)
}

#[test]
fn what_an_earlier_run_left_is_gone_on_from() {
    let wanted = kept("0-10000,50000-60000", Some("\"a\""), Some(80_000));
    let (ran, world) = resumed(wanted, 1, |seen| whole(seen, "\"a\"", &content(80_000)));
    ran.holds(0, &content(80_000));
    assert_eq!(ranges(&world), ["bytes=10000-49999", "bytes=60000-"]);
    assert_eq!((ran.reports[0].resumed, ran.reports[0].received), (20_000, 60_000));
    let wanted = kept("0-10000,50000-60000", Some("\"a\""), Some(80_000));
    let (ran, world) = resumed(wanted, 4, |seen| whole(seen, "\"a\"", &content(80_000)));
    ran.holds(0, &content(80_000));
    assert_eq!(ranges(&world)[0], "bytes=10000-16383");
}

#[test]
fn what_an_earlier_run_left_of_another_version_is_not() {
    let wanted = kept("0-10000", Some("\"old\""), Some(80_000));
    let (ran, world) = resumed(wanted, 1, |seen| whole(seen, "\"a\"", &content(70_000)));
    assert_eq!(ran.sink.files[0].bytes, content(70_000));
    assert_eq!((ran.reports[0].resumed, ran.reports[0].received), (0, 70_000));
    assert_eq!(world.seen.len(), 1);
}

#[test]
fn a_part_that_turns_out_whole_needs_no_byte_more() {
    for (tag, length) in [(Some("\"a\""), Some(80_000)), (None, None)] {
        let wanted = kept("0-80000", tag, length);
        let (ran, world) = resumed(wanted, 1, |seen| whole(seen, "\"a\"", &content(80_000)));
        ran.holds(0, &content(80_000));
        assert_eq!(ranges(&world), ["bytes=80000-"]);
        assert_eq!(ran.reports[0].received, 0);
    }
}

#[test]
fn a_part_longer_than_the_file_is_thrown_away() {
    let wanted = kept("0-80000", None, None);
    let (ran, world) = resumed(wanted, 1, |seen| whole(seen, "\"a\"", &content(70_000)));
    ran.holds(0, &content(70_000));
    assert_eq!(ranges(&world), ["bytes=80000-", "-"]);
}

#[test]
fn an_answer_for_another_range_is_refused() {
    let wanted = kept("0-10000", Some("\"a\""), Some(80_000));
    let (ran, _) = resumed(wanted, 1, |_| {
        let fields =
            Fields::new().with("ETag", "\"a\"").with("Content-Range", "bytes 0-79999/80000");
        Reply::Whole(Status::new(206).unwrap(), fields, content(80_000))
    });
    ran.failed(0, "asked for the bytes from 10000 on and answered with those from 0 to 80000");
}

#[test]
fn many_files_share_one_connection() {
    for (speaks, transport) in
        [(Speaks::Http1, Transport::H1), (Speaks::Http2, Transport::H2_CLEAR)]
    {
        let mut world =
            World::new(Listener::Clear(speaks), |seen| whole(seen, "\"a\"", &content(5_000)));
        let mut config = config(transport);
        config.limits.per_origin = 1;
        let download = Download::new(DownloadSettings::default(), wanted(50), Memory::new(50));
        let ran = Ran::of(&mut world, config, download);
        for index in 0..50 {
            ran.holds(index, &content(5_000));
        }
        assert_eq!((world.opened(), world.seen.len()), (1, 50));
    }
}

#[test]
fn a_sink_that_takes_no_more_ends_its_file_alone() {
    let mut world =
        World::new(Listener::Clear(Speaks::Http1), |seen| match seen.head.path.as_str() {
            "/0" => whole(seen, "\"a\"", &content(90_000)),
            _ => whole(seen, "\"b\"", &content(100)),
        });
    world.piece = 10_000;
    let sink = Memory { full_at: 50_000, ..Memory::new(2) };
    let download = Download::new(DownloadSettings::default(), wanted(2), sink);
    let ran = Ran::of(&mut world, config(Transport::H1), download);
    ran.failed(0, "the disk is full");
    ran.holds(1, &content(100));
}

/// The redirect's connection is the only one that the pool allows, and its rest never comes, or never ends.
#[test]
fn a_redirect_whose_body_does_not_end_is_left_and_followed() {
    for (length, sent, waits) in [(10, 5, true), (100_000_000, 70_000, false)] {
        let (ran, world) = one(move |seen| match &*seen.head.path {
            "/there" => whole(seen, "\"a\"", b"there"),
            _ => {
                let head = format!(
                    "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: {length}\r\n\r\n"
                );
                let raw = [head.into_bytes(), vec![b'x'; sent]].concat();
                Reply::With(vec![Unasked::Raw(raw)], Box::new(Reply::Silence))
            }
        });
        ran.holds(0, b"there");
        assert_eq!((world.opened(), world.seen.len()), (2, 2));
        let until = world.seen[1].at.since(world.seen[0].at);
        assert_eq!(until >= config(Transport::H1).timeouts.stall, waits, "{until:?}");
    }
}

#[test]
fn redirects_in_a_circle_end() {
    let (ran, world) = one(|seen| match seen.head.path.as_str() {
        "/0" => crate::world::redirect(302, "/1"),
        _ => crate::world::redirect(302, "/0"),
    });
    ran.failed(0, "circle");
    assert_eq!(world.seen.len(), 2);
}
