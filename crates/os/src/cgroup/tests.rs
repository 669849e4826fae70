//! Against text and folders as the kernel documents them, and against this machine's own groups where it lets us make any.

use super::*;
use crate::process::{Counter, Group as ProcessGroup, Setup, User, spawn};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A folder in the place of a machine's root, removed at the end.
struct FakeRoot(TempDir);

impl FakeRoot {
    fn new() -> Self {
        Self(TempDir::with_prefix("wirelap-test-").unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn a_process_outside_the_group_that_got_a_number_again_is_spared() {
    let root = FakeRoot::new();
    let mut sleepers = [0; 3].map(|_| Command::new("sleep").arg("100").spawn().unwrap());
    let [gone, stays, other] = [0, 1, 2].map(|index: usize| sleepers[index].id().to_string());
    root.write("cgroup.procs", &format!("{gone}\n0\n{stays}\n"));
    let file = root.path().join("cgroup.procs");
    let opened = open_members(&file);
    assert_eq!(opened.len(), 2);
    // The first one had left the group when it was opened: its number is a stranger's. A new one came.
    root.write("cgroup.procs", &format!("{stays}\n{other}\n"));
    kill_members(&file, &opened);
    assert_eq!(sleepers[1].wait().unwrap().signal(), Some(libc::SIGKILL));
    for index in [0, 2] {
        assert_eq!(sleepers[index].try_wait().unwrap(), None);
        sleepers[index].kill().unwrap();
        sleepers[index].wait().unwrap();
    }
    // What was opened is the process that has ended, whatever its number names now.
    root.write("cgroup.procs", &format!("{gone}\n"));
    kill_members(&file, &opened);
}

/// A user's session under systemd: one hierarchy, in which the session's own slice hands memory out.
const V2_MEMBERSHIP: &str =
    "0::/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope\n";
const V2_MOUNTS: &str = "\
22 28 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
29 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
";
const SLICE: &str = "sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice";

/// Both: version 1 counts, version 2 is mounted beside it and has no controllers.
const HYBRID_MEMBERSHIP: &str = "\
5:cpu,cpuacct:/
4:memory:/box/3cd3
1:name=systemd:/
0::/
";
const HYBRID_MOUNTS: &str = "\
30 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
31 25 0:28 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
32 25 0:29 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
";

#[test]
fn the_one_hierarchy_of_version_2_counts_both_beside_our_own_group() {
    let root = FakeRoot::new();
    root.write(&format!("{SLICE}/cgroup.subtree_control"), "cpu memory pids\n");
    root.write(&format!("{SLICE}/term.scope/cgroup.subtree_control"), "\n");
    let parents = ParentGroups::of(root.path(), V2_MEMBERSHIP, V2_MOUNTS);
    assert_eq!(parents.refused(), None);
    let group = parents.group().unwrap();
    let [folder] = group.folders.as_slice() else { panic!("{group:?}") };
    assert_eq!(folder.path.parent().unwrap(), root.path().join(SLICE));
    assert_eq!(folder.counts, Counts { cpu: true, memory: true });
    assert_eq!(group.figures(), Figures::default(), "files that are not there say nothing");
    // As captured after 0.4 s of a shell's loop.
    let stat =
        "usage_usec 411392\nuser_usec 298117\nsystem_usec 113275\nnice_usec 0\nnr_periods 0\n";
    fs::write(folder.path.join("cpu.stat"), stat).unwrap();
    fs::write(folder.path.join("memory.peak"), "5672960\n").unwrap();
    let time =
        CpuTime { user: Duration::from_micros(298_117), system: Duration::from_micros(113_275) };
    let figures = group.figures();
    assert_eq!(figures.cpu, Some((time, Version::V2)));
    assert_eq!(figures.peak_memory, Some((5_672_960, Version::V2)));
    fs::write(folder.path.join("cpu.stat"), "user_usec many\n").unwrap();
    assert_eq!(group.figures().cpu, None);
}

#[test]
fn below_our_own_group_processor_time_is_counted_and_memory_is_not() {
    let root = FakeRoot::new();
    root.write(&format!("{SLICE}/term.scope/cgroup.subtree_control"), "\n");
    root.write(&format!("{SLICE}/cgroup.subtree_control"), "\n");
    let group = ParentGroups::of(root.path(), V2_MEMBERSHIP, V2_MOUNTS).group().unwrap();
    assert_eq!(group.folders[0].path.parent().unwrap(), root.path().join(SLICE).join("term.scope"));
    assert_eq!(group.folders[0].counts, Counts { cpu: true, memory: false });
}

#[test]
fn version_1_has_a_group_in_each_hierarchy() {
    let root = FakeRoot::new();
    root.write("sys/fs/cgroup/cpu,cpuacct/cgroup.procs", "");
    root.write("sys/fs/cgroup/memory/box/3cd3/cgroup.procs", "");
    let group = ParentGroups::of(root.path(), HYBRID_MEMBERSHIP, HYBRID_MOUNTS).group().unwrap();
    let [cpu, memory] = group.folders.as_slice() else { panic!("{group:?}") };
    assert_eq!(cpu.path.parent().unwrap(), root.path().join("sys/fs/cgroup/cpu,cpuacct"));
    assert_eq!(memory.path.parent().unwrap(), root.path().join("sys/fs/cgroup/memory/box/3cd3"));
    fs::write(cpu.path.join("cpuacct.usage_user"), "1500000\n").unwrap();
    fs::write(cpu.path.join("cpuacct.usage_sys"), "500000\n").unwrap();
    fs::write(memory.path.join("memory.max_usage_in_bytes"), "4096\n").unwrap();
    let time = CpuTime { user: Duration::from_micros(1500), system: Duration::from_micros(500) };
    let figures = group.figures();
    assert_eq!(figures.cpu, Some((time, Version::V1)));
    assert_eq!(figures.peak_memory, Some((4096, Version::V1)));
}

#[test]
fn where_both_versions_are_mounted_each_figure_has_its_own() {
    let root = FakeRoot::new();
    root.write("sys/fs/cgroup/cpu,cpuacct/cgroup.procs", "");
    root.write("sys/fs/cgroup/memory/box/3cd3/cgroup.procs", "");
    root.write("sys/fs/cgroup/unified/cgroup.subtree_control", "\n");
    let unified = "33 25 0:30 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
    let mounts = format!("{HYBRID_MOUNTS}{unified}");
    let group = ParentGroups::of(root.path(), HYBRID_MEMBERSHIP, &mounts).group().unwrap();
    let told: Vec<_> = group.folders.iter().map(|folder| (folder.version, folder.counts)).collect();
    assert_eq!(
        told,
        [
            (Version::V2, Counts { cpu: true, memory: false }),
            (Version::V1, Counts { cpu: false, memory: true }),
        ]
    );
}

#[test]
fn where_no_group_can_be_made_there_is_none_and_a_reason() {
    let root = FakeRoot::new();
    let none = ParentGroups::of(root.path(), "", "");
    assert_eq!(none.refused(), Some("no control groups are mounted"));
    assert!(none.group().is_none());
    // Mounted, and not there: as refused as a folder that may not be written.
    let closed = ParentGroups::of(root.path(), V2_MEMBERSHIP, V2_MOUNTS);
    assert!(closed.refused().unwrap().contains("no group can be made in"), "{closed:?}");
    assert!(closed.group().is_none());
}

#[test]
fn what_the_killed_left_is_swept_and_what_the_living_have_stays() {
    let root = FakeRoot::new();
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let (dead, own) =
        (format!("wirelap-{}-0", child.id()), format!("wirelap-{}-7", std::process::id()));
    for name in [&dead, &own, "wirelap-notes", "other"] {
        fs::create_dir_all(root.path().join(SLICE).join("term.scope").join(name)).unwrap();
    }
    let _swept = ParentGroups::of(root.path(), V2_MEMBERSHIP, V2_MOUNTS);
    let is_there = |name: &str| root.path().join(SLICE).join("term.scope").join(name).exists();
    assert!(!is_there(&dead));
    assert!(is_there(&own) && is_there("wirelap-notes") && is_there("other"));
}

/// This machine's own; None, and a skip, where it has none for us.
fn group() -> Option<Group> {
    let parents = ParentGroups::of_this_process();
    let group = parents.group();
    if group.is_none() {
        let why = parents.refused().unwrap_or("it could not be made");
        testing::skip(format_args!("control groups: {why}"));
    }
    group
}

fn setup(account: Option<Group>) -> Setup<'static> {
    Setup {
        group: ProcessGroup::Own,
        cpus: crate::process::CpuSet::any(),
        network: None,
        own_proc: false,
        user: User::Ours,
        account,
    }
}

/// A shell that starts another one in a session of its own, which nobody waits for and which works for a while.
const WORK: &str = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";

#[test]
fn a_group_counts_those_that_nobody_waited_for_and_is_gone_with_them() {
    let Some(account) = group() else { return };
    let folders: Vec<PathBuf> = account.folders.iter().map(|folder| folder.path.clone()).collect();
    let counts_cpu = account.folders.iter().any(|folder| folder.counts.cpu);
    let mut shell = Command::new("sh");
    // The end of the pipe tells that the one in its own session has done its work; then it lingers.
    let line =
        format!("setsid sh -c '{WORK}; exec >&-; sleep 1000' & read line < /dev/stdin; exit 0");
    shell.args(["-c", &line]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = spawn(shell, setup(Some(account))).unwrap();
    let mut stdout = child.stdout.take().unwrap();
    // The first shell holds the pipe too: it ends when it is told to, and the other holds it until its work is done.
    io::Write::write_all(&mut child.stdin.take().unwrap(), b"go\n").unwrap();
    io::Read::read_to_end(&mut stdout, &mut Vec::new()).unwrap();
    let usage = child.wait(None).unwrap().unwrap().usage;
    if counts_cpu {
        assert!(usage.counted_by > Counter::Wait4, "{usage:?}");
        assert!(usage.user + usage.system > Duration::from_millis(10), "{usage:?}");
    }
    assert!(folders.iter().all(|folder| folder.exists()));
    drop(child);
    assert!(folders.iter().all(|folder| !folder.exists()), "{folders:?}");
}

#[test]
fn a_child_that_cannot_enter_its_group_is_counted_by_wait4() {
    let root = FakeRoot::new();
    // A folder of no kernel's has no entry, and opening one does not make it.
    root.write(&format!("{SLICE}/term.scope/cgroup.subtree_control"), "\n");
    let account = ParentGroups::of(root.path(), V2_MEMBERSHIP, V2_MOUNTS).group();
    let folder = account.as_ref().unwrap().folders[0].path.clone();
    fs::write(folder.join("cpu.stat"), "user_usec 1\nsystem_usec 1\n").unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", WORK]);
    let mut child = spawn(shell, setup(account)).unwrap();
    let usage = child.wait(None).unwrap().unwrap().usage;
    assert_eq!((usage.counted_by, usage.group_peak), (Counter::Wait4, None));
    assert!(usage.user > Duration::from_micros(1), "{usage:?}");
}
