//! Where groups can be made: beside or below the group that this process is in, in the hierarchies that count processor
//! time and memory. Version 2 is preferred to version 1. On a machine with both, each figure has its own hierarchy.

use super::{Counts, Folder, Group, is_alive};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The start of our groups' names. The number of the process that made the group follows, then the group's own.
const NAME: &str = "wirelap";

/// The two versions of Linux's control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// A hierarchy for each kind of figure.
    V1,
    /// One hierarchy.
    V2,
}

/// The groups below which we can make others. Empty where the system has none or allows none.
#[derive(Debug, Default)]
pub struct ParentGroups {
    groups: Vec<ParentGroup>,
    /// Why there is no such group.
    refused: Option<String>,
}

/// A group below which others can be made.
#[derive(Debug)]
struct ParentGroup {
    folder: PathBuf,
    version: Version,
    counts: Counts,
}

/// A mounted hierarchy, and this process's group in it.
#[derive(Debug, PartialEq, Eq)]
struct Hierarchy {
    /// Where it is mounted.
    mount: PathBuf,
    /// Where this process's group is.
    own: PathBuf,
    version: Version,
    /// Of version 1.
    controllers: Vec<String>,
}

impl ParentGroups {
    /// Of this process, on this machine.
    pub fn of_this_process() -> Self {
        let read = |file| fs::read_to_string(file).unwrap_or_default();
        Self::of(Path::new("/"), &read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
    }

    /// For a process with these files of /proc, whose mounts are below `root`.
    pub(super) fn of(root: &Path, membership: &str, mounts: &str) -> Self {
        let mut parents = Self::default();
        let hierarchies = hierarchies(membership, mounts);
        if hierarchies.is_empty() {
            parents.refused = Some("no control groups are mounted".to_owned());
        }
        for version in [Version::V2, Version::V1] {
            for hierarchy in hierarchies.iter().filter(|hierarchy| hierarchy.version == version) {
                let candidates = hierarchy.candidates(root);
                let Some(parent) =
                    candidates.into_iter().find(|parent| parents.lacks(parent.counts))
                else {
                    continue;
                };
                match try_out(&parent.folder) {
                    Ok(()) => parents.add(parent),
                    Err(error) => {
                        let folder = parent.folder.display();
                        parents.refused =
                            Some(format!("no group can be made in {folder}: {error}"));
                    }
                }
            }
        }
        parents.sweep();
        parents
    }

    /// A new group, empty; None where none can be made.
    pub fn group(&self) -> Option<Group> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{NAME}-{}-{number}", std::process::id());
        let mut group = Group { folders: Vec::new() };
        for ParentGroup { folder, version, counts } in &self.groups {
            let path = folder.join(&name);
            // Dropping the group removes what was made so far.
            fs::create_dir(&path).ok()?;
            group.folders.push(Folder { path, version: *version, counts: *counts });
        }
        (!group.folders.is_empty()).then_some(group)
    }

    /// Why groups can count neither processor time nor memory; None where they can count one of them.
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref().filter(|_| self.groups.is_empty())
    }

    /// Removes our groups whose makers have ended. The kernel does not remove a group that is in use.
    pub(super) fn sweep(&self) {
        for parent in &self.groups {
            for entry in fs::read_dir(&parent.folder).into_iter().flatten().filter_map(Result::ok) {
                let name = entry.file_name();
                let maker = name.to_str().and_then(maker);
                if maker.is_some_and(|pid| !is_alive(pid)) {
                    let _ = fs::remove_dir(entry.path());
                }
            }
        }
    }

    fn counts(&self) -> Counts {
        let any =
            |counted: fn(Counts) -> bool| self.groups.iter().any(|parent| counted(parent.counts));
        Counts { cpu: any(|counts| counts.cpu), memory: any(|counts| counts.memory) }
    }

    /// Whether `counts` holds a figure that no group counts so far.
    fn lacks(&self, counts: Counts) -> bool {
        let had = self.counts();
        (counts.cpu && !had.cpu) || (counts.memory && !had.memory)
    }

    /// Adds a parent for the figures that are not counted so far.
    fn add(&mut self, parent: ParentGroup) {
        let had = self.counts();
        let counts = Counts {
            cpu: parent.counts.cpu && !had.cpu,
            memory: parent.counts.memory && !had.memory,
        };
        self.groups.push(ParentGroup { counts, ..parent });
    }
}

impl Hierarchy {
    /// Where a group could be made, best first.
    fn candidates(&self, root: &Path) -> Vec<ParentGroup> {
        let below = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
        let (own, top) = (below(&self.own), below(&self.mount));
        if self.version == Version::V1 {
            let has = |name: &str| self.controllers.iter().any(|controller| controller == name);
            let counts = Counts { cpu: has("cpuacct"), memory: has("memory") };
            return vec![ParentGroup { folder: own, version: Version::V1, counts }];
        }
        // A version 2 group that holds processes cannot enable controllers below it ("no internal processes"). So
        // memory is counted beside our own group, not below it. Processor time is counted everywhere.
        let enclosing =
            own.parent().filter(|parent| parent.starts_with(&top)).map(Path::to_path_buf);
        let parent = |folder: PathBuf| {
            let handed_out = fs::read_to_string(folder.join("cgroup.subtree_control"));
            let memory =
                handed_out.unwrap_or_default().split_whitespace().any(|name| name == "memory");
            ParentGroup { folder, version: Version::V2, counts: Counts { cpu: true, memory } }
        };
        let usable = |parent: &ParentGroup| try_out(&parent.folder).is_ok();
        let mut groups: Vec<ParentGroup> =
            std::iter::once(own).chain(enclosing).map(parent).collect();
        // The sort is stable. A group that lets us in goes before one that does not.
        groups.sort_by_key(|parent| (!usable(parent), !parent.counts.memory));
        groups
    }
}

/// Makes a group and removes it.
fn try_out(folder: &Path) -> io::Result<()> {
    let path = folder.join(format!("{NAME}-{}-try", std::process::id()));
    fs::create_dir(&path)?;
    fs::remove_dir(&path)
}

/// The process that made the group with this name; None where the group is not ours.
fn maker(name: &str) -> Option<u32> {
    name.strip_prefix(NAME)?.strip_prefix('-')?.split_once('-')?.0.parse().ok()
}

/// The hierarchies that `mounts` (proc_pid_mountinfo(5)) lists, with the group that `membership` (cgroups(7)) names.
fn hierarchies(membership: &str, mounts: &str) -> Vec<Hierarchy> {
    let mounted = mounts.lines().filter_map(|line| hierarchy(membership, line));
    mounted.collect()
}

fn hierarchy(membership: &str, line: &str) -> Option<Hierarchy> {
    let (parent, kind) = line.split_once(" - ")?;
    let mut parent = parent.split(' ').skip(3);
    let (inside, mount) = (parent.next()?, parent.next()?);
    let mut kind = kind.split(' ');
    let version = match kind.next()? {
        "cgroup2" => Version::V2,
        "cgroup" => Version::V1,
        _ => return None,
    };
    // In version 1 the mount options name the controllers.
    let options: Vec<&str> = kind.nth(1)?.split(',').collect();
    let path = membership.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let is_it = match version {
            Version::V2 => controllers.is_empty(),
            Version::V1 => {
                !controllers.is_empty()
                    && controllers.split(',').all(|name| options.contains(&name))
            }
        };
        is_it.then_some((controllers, path))
    });
    let (controllers, path) = path?;
    let mount = PathBuf::from(mount);
    // A container sees only a part of the tree mounted. A path from outside of that part does not exist here.
    let below = Path::new(path).strip_prefix(inside).unwrap_or(Path::new(""));
    let own = mount.join(below);
    let controllers = controllers.split(',').map(str::to_owned).collect();
    Some(Hierarchy { mount, own, version, controllers })
}
