use super::*;
use crate::clock;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    /// A folder of this test's own, with a secret beside it.
    fn new() -> Self {
        let folder = TempDir::with_prefix("wirelap-test-").unwrap();
        let path = folder.path();
        std::fs::create_dir_all(path.join("root/sub")).unwrap();
        std::fs::write(path.join("secret"), "secret").unwrap();
        std::fs::write(path.join("root/a.txt"), "hello").unwrap();
        std::fs::write(path.join("root/sub/b.txt"), "b").unwrap();
        std::os::unix::fs::symlink("../secret", path.join("root/out")).unwrap();
        std::os::unix::fs::symlink("..", path.join("root/up")).unwrap();
        std::os::unix::fs::symlink("a.txt", path.join("root/within")).unwrap();
        let fifo = std::process::Command::new("mkfifo").arg(path.join("root/fifo")).status();
        assert!(fifo.unwrap().success());
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn root(&self, settings: CacheSettings) -> Root {
        Root::open(&self.path().join("root"), settings).unwrap()
    }
}

fn content(root: &Root, path: &str) -> Option<Vec<u8>> {
    match root.lookup(clock::now(), path).ok()? {
        Entry::File(file) => Some(file.read(0, 100).unwrap().to_vec()),
        Entry::Directory => None,
    }
}

#[test]
fn files_below_the_root_are_read_in_ranges() {
    let folder = Folder::new();
    for age in [Duration::ZERO, Duration::from_secs(1)] {
        let root = folder.root(CacheSettings { age, ..CacheSettings::default() });
        let Ok(Entry::File(file)) = root.lookup(clock::now(), "a.txt") else { panic!("no file") };
        assert_eq!(file.facts().length, 5);
        assert_eq!(&file.read(1, 3).unwrap()[..], b"ell");
        assert_eq!(&file.read(4, 30).unwrap()[..], b"o");
        assert_eq!(&file.read(9, 30).unwrap()[..], b"");
        assert_eq!(content(&root, "sub/b.txt").as_deref(), Some(&b"b"[..]));
        assert!(matches!(root.lookup(clock::now(), "sub"), Ok(Entry::Directory)));
        assert!(matches!(root.lookup(clock::now(), ""), Ok(Entry::Directory)));
    }
}

#[test]
fn no_path_leads_out_of_the_root_with_or_without_openat2() {
    let folder = Folder::new();
    let root = folder.root(CacheSettings::default());
    for path in ["../secret", "out", "up/secret", "sub/../../secret", "/etc/passwd"] {
        let found = root.lookup(clock::now(), path);
        assert!(matches!(found, Err(LookupError::NotFound)), "{path}: {found:?}");
    }
    for path in ["../secret", "out", "up/secret", "sub/../../secret", "within"] {
        assert!(open::part_by_part(root.directory.as_fd(), path).is_err(), "{path}");
    }
    let found = open::part_by_part(root.directory.as_fd(), "sub/b.txt");
    assert!(found.is_ok(), "the fallback finds what is there");
}

#[test]
fn a_link_that_stays_below_the_root_is_followed() {
    let folder = Folder::new();
    let root = folder.root(CacheSettings::default());
    match root.lookup(clock::now(), "within") {
        Ok(Entry::File(file)) => assert_eq!(&file.read(0, 10).unwrap()[..], b"hello"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_link_to_a_folder_above_is_followed_while_others_are_renamed() {
    let folder = Folder::new();
    let root = folder.root(CacheSettings { age: Duration::ZERO, ..CacheSettings::default() });
    std::os::unix::fs::symlink("../a.txt", folder.path().join("root/sub/back")).unwrap();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    std::fs::write(&one, "").unwrap();
    std::thread::scope(|scope| {
        let renaming = scope.spawn(|| {
            for _ in 0..20_000 {
                std::fs::rename(&one, &other).unwrap();
                std::fs::rename(&other, &one).unwrap();
            }
        });
        let (mut opened, mut busy) = (0, 0);
        while !renaming.is_finished() {
            match root.lookup(clock::now(), "sub/back") {
                Ok(Entry::File(_)) => opened += 1,
                Err(LookupError::Busy(_)) => busy += 1,
                other => panic!("{other:?}"),
            }
        }
        assert!(busy <= opened / 100, "{busy} of {opened}");
    });
    let raced = io::Error::from_raw_os_error(libc::EAGAIN);
    assert!(matches!(lookup_error(raced), LookupError::Busy(_)));
}

#[test]
fn a_fifo_is_not_a_file_and_does_not_wait() {
    let folder = Folder::new();
    let root = folder.root(CacheSettings::default());
    assert!(matches!(root.lookup(clock::now(), "fifo"), Err(LookupError::NotFound)));
}

#[test]
fn a_changed_file_is_seen_once_its_copy_is_old() {
    let folder = Folder::new();
    let root = folder.root(CacheSettings::default());
    let now = clock::now();
    let length = |at| match root.lookup(at, "a.txt") {
        Ok(Entry::File(file)) => file.facts().length,
        other => panic!("{other:?}"),
    };
    assert_eq!(length(now), 5);
    std::fs::write(folder.path().join("root/a.txt"), "hello again").unwrap();
    assert_eq!(length(now + Duration::from_millis(999)), 5);
    assert_eq!(length(now + Duration::from_secs(1)), 11);
}

#[test]
fn a_large_file_that_was_written_in_place_is_seen_at_once() {
    let folder = Folder::new();
    let root = folder.root(CacheSettings::default());
    let (path, now) = (folder.path().join("root/large"), clock::now());
    let look_up = || match root.lookup(now, "large") {
        Ok(Entry::File(file)) => file,
        other => panic!("{other:?}"),
    };
    std::fs::write(&path, vec![b'a'; 300_000]).unwrap();
    let old = look_up();
    assert_eq!(&old.read(0, 2).unwrap()[..], b"aa");
    assert!(Arc::ptr_eq(&old, &look_up()), "it is kept as long as it is the same");
    // The kernel's clock for files stands still for some milliseconds.
    std::thread::sleep(Duration::from_millis(20));
    std::fs::write(&path, vec![b'b'; 300_000]).unwrap();
    let new = look_up();
    assert_ne!(new.facts(), old.facts());
    assert_eq!(&new.read(0, 2).unwrap()[..], b"bb");
    // So is one that another file has taken the name of.
    std::fs::write(path.with_extension("new"), vec![b'c'; 300_000]).unwrap();
    std::fs::rename(path.with_extension("new"), &path).unwrap();
    assert_eq!(&look_up().read(0, 2).unwrap()[..], b"cc");
}

#[test]
fn the_cache_never_holds_more_than_its_limit() {
    let folder = Folder::new();
    let (total_limit, large_total_limit) = (4_000, 8_000);
    let settings = CacheSettings {
        file_limit: 1_000,
        total_limit,
        large_total_limit,
        ..CacheSettings::default()
    };
    let root = folder.root(settings);
    for index in 0..40 {
        let name = format!("f{index}");
        let bytes = if index % 3 == 0 { 2_000 } else { 1_000 };
        std::fs::write(folder.path().join("root").join(&name), vec![b'x'; bytes]).unwrap();
        assert!(content(&root, &name).is_some());
        assert!(root.small.bytes() <= total_limit && root.large.bytes() <= large_total_limit);
    }
    assert!(root.small.bytes() > 0 && root.large.bytes() > 0);
}

/// Bytes that tell where in a file they stand.
fn counted(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 251 + at) as u8).collect()
}

fn whole(file: &OpenFile, step: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(piece) =
        file.read(bytes.len() as u64, step).ok().filter(|piece| !piece.is_empty())
    {
        assert!(piece.len() <= step);
        bytes.extend_from_slice(&piece);
    }
    bytes
}

fn file(root: &Root, path: &str) -> Arc<OpenFile> {
    match root.lookup(clock::now(), path) {
        Ok(Entry::File(file)) => file,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_large_file_reads_alike_whether_its_pieces_are_kept_or_not() {
    let folder = Folder::new();
    let bytes = counted(300_001);
    std::fs::write(folder.path().join("root/large"), &bytes).unwrap();
    for large_file_limit in [0, 1 << 20] {
        let root = folder.root(CacheSettings { large_file_limit, ..CacheSettings::default() });
        for step in [1_000, 16 * 1024, 64 * 1024, 1 << 20] {
            assert!(whole(&file(&root, "large"), step) == bytes, "{large_file_limit} {step}");
        }
        let part = file(&root, "large").read(65_000, 100).unwrap();
        assert_eq!(part[..], bytes[65_000..65_100]);
    }
}

#[test]
fn a_piece_that_is_kept_is_read_once_and_its_buffer_used_again() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("root/large"), counted(300_000)).unwrap();
    let kept = folder.root(CacheSettings::default());
    let (first, again) = (file(&kept, "large"), file(&kept, "large"));
    let at = |file: &OpenFile| file.read(0, 64 * 1024).unwrap().as_ptr();
    assert_eq!(at(&first), at(&again));
    let passing = folder.root(CacheSettings { large_file_limit: 0, ..CacheSettings::default() });
    let open = file(&passing, "large");
    let one = at(&open);
    assert_eq!((passing.buffers.spare(), at(&open)), (1, one), "nobody held it any more");
}

#[test]
fn pieces_of_two_versions_are_never_kept_together() {
    let folder = Folder::new();
    let path = folder.path().join("root/large");
    std::fs::write(&path, vec![b'a'; 300_000]).unwrap();
    let root = folder.root(CacheSettings::default());
    let old = file(&root, "large");
    assert_eq!(old.read(0, 10).unwrap()[..], [b'a'; 10]);
    std::fs::write(&path, vec![b'c'; 300_001]).unwrap();
    // Who has it open reads what is there, and keeps none of it.
    assert_eq!(old.read(100_000, 10).unwrap()[..], [b'c'; 10]);
    std::fs::write(&path, vec![b'b'; 300_001]).unwrap();
    assert_eq!(old.read(100_000, 10).unwrap()[..], [b'b'; 10]);
    assert!(whole(&file(&root, "large"), 64 * 1024) == vec![b'b'; 300_001]);
}
