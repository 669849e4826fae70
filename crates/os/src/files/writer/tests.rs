use super::*;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A folder that goes away at the end.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::with_prefix("wirelap-test-").unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 7 + index / 251) as u8).collect()
}

fn digest(bytes: &[u8]) -> Digest {
    let mut hash = secure::Sha256::new();
    hash.update(bytes);
    hash.finish()
}

fn settings(cache: Cache) -> WriterSettings {
    WriterSettings { cache, unit: 64 << 10, ..WriterSettings::default() }
}

fn only(writer: Writer) -> Result<WrittenFile, WriteError> {
    let mut outcomes = writer.close();
    assert_eq!(outcomes.len(), 1, "{outcomes:?}");
    outcomes.remove(0).1
}

fn spec(target: &Path, content: &[u8]) -> PartSpec {
    let digest = DigestPolicy::Expect(digest(content));
    PartSpec { digest, ..PartSpec::new(target.to_owned(), Some(content.len() as u64)) }
}

#[test]
fn a_file_is_whole_whatever_the_pieces_that_it_came_in() {
    let folder = Folder::new();
    for (cache, length, piece) in [
        (Cache::Buffered, 0, 1),
        (Cache::Buffered, 80_000, 1_460),
        (Cache::Direct, 80_000, 1_460),
        (Cache::Direct, 300_000, 65_536),
        (Cache::Direct, 262_144, 100_000),
        (Cache::Direct, 4_095, 4_095),
    ] {
        let content = bytes(length);
        let target = folder.path().join("file");
        let mut writer = Writer::start(settings(cache)).unwrap();
        let part = writer.open(spec(&target, &content));
        for (index, piece_of) in content.chunks(piece).enumerate() {
            writer.write(part, (index * piece) as u64, piece_of).unwrap();
            assert!(!target.exists() || length == 0);
        }
        writer.finish(part, length as u64);
        let whole = only(writer).unwrap();
        assert_eq!(whole.digest, Some(digest(&content)));
        assert_eq!(fs::read(&target).unwrap(), content);
        assert_eq!(folder.names(), ["file"], "{cache:?} {length} {piece}");
        fs::remove_file(target).unwrap();
    }
}

#[test]
fn ranges_that_arrive_side_by_side_make_one_file() {
    let folder = Folder::new();
    let content = bytes(500_001);
    let target = folder.path().join("file");
    let mut writer = Writer::start(settings(Cache::Direct)).unwrap();
    let part = writer.open(spec(&target, &content));
    let mut at = [0, 131_072, 262_144];
    let ends = [131_072, 262_144, 500_001];
    while at != ends {
        for (at, end) in at.iter_mut().zip(ends) {
            let to = (*at + 10_007).min(end);
            writer.write(part, *at as u64, &content[*at..to]).unwrap();
            *at = to;
        }
    }
    writer.finish(part, content.len() as u64);
    only(writer).unwrap();
    assert_eq!(fs::read(target).unwrap(), content);
}

#[test]
fn a_part_that_is_left_is_gone_on_from() {
    let folder = Folder::new();
    let content = bytes(300_000);
    let target = folder.path().join("file");
    for cut in [70_001, 200_000] {
        let left = inspect(&target);
        let kept = left.map_or_else(|_| Ranges::new(), |left| left.ranges);
        let from = kept.end() as usize;
        let mut writer = Writer::start(settings(Cache::Direct)).unwrap();
        let label = "url x\nlength 1".to_owned();
        let part = writer.open(PartSpec { kept, label, ..spec(&target, &content) });
        writer.write(part, from as u64, &content[from..cut]).unwrap();
        writer.abandon(part);
        assert!(matches!(only(writer), Err(WriteError::Unfinished(_))));
        assert!(!target.exists());
        let left = inspect(&target).unwrap();
        assert_eq!(left.ranges.to_string(), format!("0-{cut}"));
        assert_eq!(left.label, "url x\nlength 1");
    }
    let kept = inspect(&target).unwrap().ranges;
    let mut writer = Writer::start(settings(Cache::Direct)).unwrap();
    let part = writer.open(PartSpec { kept, ..spec(&target, &content) });
    writer.write(part, 200_000, &content[200_000..]).unwrap();
    writer.finish(part, 300_000);
    only(writer).unwrap();
    assert_eq!(fs::read(&target).unwrap(), content);
    assert_eq!(folder.names(), ["file"]);
}

#[test]
fn a_part_that_is_not_to_stay_is_removed() {
    let folder = Folder::new();
    let target = folder.path().join("file");
    let leave = WriterSettings { unfinished: UnfinishedPart::Remove, ..settings(Cache::Buffered) };
    let mut writer = Writer::start(leave).unwrap();
    let part = writer.open(PartSpec::new(target, None));
    writer.write(part, 0, &bytes(100_000)).unwrap();
    // Nobody says what shall become of it: it is left.
    assert!(matches!(only(writer), Err(WriteError::Unfinished(_))));
    assert_eq!(folder.names(), Vec::<String>::new());
}

#[test]
fn a_wrong_digest_removes_the_part_and_leaves_the_old_file_alone() {
    let folder = Folder::new();
    let target = folder.path().join("file");
    fs::write(&target, "old").unwrap();
    let mut writer = Writer::start(settings(Cache::Buffered)).unwrap();
    let part = writer.open(spec(&target, b"right"));
    writer.write(part, 0, b"wrong").unwrap();
    writer.finish(part, 5);
    let error = only(writer).unwrap_err().to_string();
    assert!(error.contains(&digest(b"wrong").to_string()), "{error}");
    assert_eq!(fs::read(&target).unwrap(), b"old");
    assert_eq!(folder.names(), ["file"]);
}

#[test]
fn beginning_anew_keeps_nothing_of_before() {
    let folder = Folder::new();
    let target = folder.path().join("file");
    let mut writer = Writer::start(settings(Cache::Buffered)).unwrap();
    let part = writer.open(PartSpec::new(target.clone(), Some(200_000)));
    writer.write(part, 0, &bytes(150_000)).unwrap();
    writer.reopen(part, spec(&target, b"short"));
    writer.write(part, 0, b"short").unwrap();
    writer.finish(part, 5);
    only(writer).unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"short");
    assert_eq!(folder.names(), ["file"]);
}

#[test]
fn two_writers_of_one_file_do_not_mix() {
    let folder = Folder::new();
    let target = folder.path().join("file");
    let mut first = Writer::start(settings(Cache::Buffered)).unwrap();
    let part = first.open(PartSpec::new(target.clone(), None));
    first.write(part, 0, &bytes(65_536)).unwrap();
    // The second order waits until the first is carried out.
    first.write(part, 65_536, &bytes(131_072)).unwrap();
    let mut second = Writer::start(settings(Cache::Buffered)).unwrap();
    let other = second.open(PartSpec::new(target.clone(), None));
    second.finish(other, 0);
    assert!(matches!(only(second), Err(WriteError::Busy(_))));
    first.finish(part, 196_608);
    only(first).unwrap();
    assert_eq!(fs::metadata(target).unwrap().len(), 196_608);
}

#[test]
fn a_folder_that_is_not_there_is_told_by_the_files_name() {
    let mut writer = Writer::start(settings(Cache::Buffered)).unwrap();
    let part = writer.open(PartSpec::new("/nowhere/file".into(), None));
    let error = loop {
        if let Err(error) = writer.write(part, 0, &bytes(65_536)) {
            break error.to_string();
        }
    };
    assert!(error.contains("cannot create /nowhere/file"), "{error}");
    assert!(only(writer).is_err());
}

#[test]
fn units_stay_within_their_budget() {
    assert_eq!(WriterSettings::unit_for(1), 1 << 20);
    for places in 1..100 {
        let unit = WriterSettings::unit_for(places);
        assert!(unit.is_power_of_two() && unit >= 64 << 10);
        assert!(unit == 64 << 10 || unit * (places + 2) <= 6 << 20, "{places}");
    }
}

#[test]
fn a_file_that_came_meanwhile_stays_where_it_is_to() {
    let folder = Folder::new();
    let target = folder.path().join("file");
    for (existing, kept) in [(Existing::Stays, "theirs"), (Existing::Replaced, "ours!!")] {
        let mut writer = Writer::start(settings(Cache::Buffered)).unwrap();
        let part = writer.open(PartSpec { existing, ..PartSpec::new(target.clone(), Some(6)) });
        writer.write(part, 0, b"ours!!").unwrap();
        fs::write(&target, "theirs").unwrap();
        writer.finish(part, 6);
        let outcome = only(writer);
        assert_eq!(matches!(outcome, Err(WriteError::Taken(_))), existing == Existing::Stays);
        assert_eq!(fs::read_to_string(&target).unwrap(), kept);
        assert_eq!(folder.names(), ["file"]);
    }
}

#[test]
fn a_file_that_is_replaced_passes_on_who_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let target = folder.path().join("file");
    fs::write(&target, "secret").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
    let mut writer = Writer::start(settings(Cache::Buffered)).unwrap();
    let existing = Existing::Replaced;
    let part = writer.open(PartSpec { existing, ..PartSpec::new(target.clone(), Some(6)) });
    writer.write(part, 0, b"ours!!").unwrap();
    writer.finish(part, 6);
    only(writer).unwrap();
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&target).unwrap(), "ours!!");
}
