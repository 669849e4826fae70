//! A race in shards under a real Slurm: its controller, a node and munge, on this machine and in a folder of their own.

use crate::bench::{Bench, Running, SLOW, experiment, trials_run_here};
use crate::shards::{assert_whole, await_row, first_attempts};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use testing::is_root;

/// Slurm on one machine, for as long as it lives. The bench ends what a test leaves running.
struct Cluster<'b> {
    bench: &'b Bench,
    daemons: Vec<Running>,
}

impl<'b> Cluster<'b> {
    fn start(bench: &'b Bench) -> Self {
        for folder in ["state", "spool", "munge"] {
            fs::create_dir(bench.path(folder)).unwrap();
            fs::set_permissions(bench.path(folder), fs::Permissions::from_mode(0o755)).unwrap();
        }
        bench.write("munge/key", [7; 64]);
        fs::set_permissions(bench.path("munge/key"), fs::Permissions::from_mode(0o400)).unwrap();
        bench.write("slurm.conf", config(&bench.folder));
        let mut cluster = Self { bench, daemons: Vec::new() };
        let place = |name: &str| bench.path(name).display().to_string();
        // Its folder is below one that anybody may write to, which it would refuse.
        cluster.daemon(
            "munged",
            &[
                "--foreground",
                "--force",
                "--num-threads=2",
                &format!("--key-file={}", place("munge/key")),
                &format!("--socket={}", place("munge/socket")),
                &format!("--pid-file={}", place("munge/pid")),
                &format!("--log-file={}", place("munge/log")),
                &format!("--seed-file={}", place("munge/seed")),
            ],
        );
        cluster.await_that("munge has its socket", |bench| bench.path("munge/socket").exists());
        cluster.daemon("slurmctld", &["-D", "-c"]);
        cluster.daemon("slurmd", &["-D"]);
        cluster.await_that("the node is idle", |_| {
            cluster.ask("sinfo", &["-h", "-o", "%T"]) == "idle"
        });
        cluster
    }

    fn daemon(&mut self, program: &str, args: &[&str]) {
        let mut command = self.bench.command(format!("/usr/sbin/{program}"));
        command.args(args).env("SLURM_CONF", self.bench.path("slurm.conf"));
        // They write logs, and nobody would read a full pipe.
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        self.daemons.push(self.bench.start(command));
    }

    /// What one of Slurm's commands prints.
    fn ask(&self, program: &str, args: &[&str]) -> String {
        let mut command = self.bench.command(program);
        command.args(args).env("SLURM_CONF", self.bench.path("slurm.conf"));
        let ran = self.bench.start(command).end();
        ran.out.trim().to_owned()
    }

    fn await_that(&self, what: &str, holds: impl Fn(&Bench) -> bool) {
        for _ in 0..600 {
            if holds(self.bench) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let log = |name: &str| fs::read_to_string(self.bench.path(name)).unwrap_or_default();
        panic!("it never came that {what}: {}{}", log("slurmctld.log"), log("slurmd.log"));
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            daemon.signal("TERM");
            let _ended = daemon.child.wait();
        }
    }
}

/// All tasks run at once on the one node, as if each had a node of its own. No control groups: a container has none to give.
fn config(folder: &Path) -> String {
    let place = folder.display();
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let name = name.trim().split('.').next().unwrap();
    let ports = [0, 0].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let [controller, node] = ports.map(|port| port.local_addr().unwrap().port());
    format!(
        "ClusterName=test\nSlurmctldHost={name}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n\
         SlurmctldPort={controller}\nSlurmdPort={node}\nAuthType=auth/munge\n\
         AuthInfo=socket={place}/munge/socket\nStateSaveLocation={place}/state\nSlurmdSpoolDir={place}/spool\n\
         SlurmctldPidFile={place}/slurmctld.pid\nSlurmdPidFile={place}/slurmd.pid\n\
         SlurmctldLogFile={place}/slurmctld.log\nSlurmdLogFile={place}/slurmd.log\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
         SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nSlurmdParameters=config_overrides\n\
         SchedulerParameters=batch_sched_delay=0\nReturnToService=2\nMpiDefault=none\n\
         NodeName={name} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN\n\
         PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE:8 State=UP\n"
    )
}

#[test]
fn eight_shards_under_slurm_one_killed_and_run_again_are_the_plan() {
    if !trials_run_here() {
        return;
    }
    if !is_root() {
        return testing::skip("root is needed for Slurm's daemons");
    }
    if ["slurmctld", "slurmd", "munged"]
        .iter()
        .any(|one| !Path::new("/usr/sbin").join(one).exists())
    {
        return testing::skip("Slurm is not installed: ./peers install");
    }
    let bench = Bench::new();
    bench.write("tiny.toml", experiment(SLOW, 16));
    let program = crate::bench::wirelap().display().to_string();
    let script = bench.run(&[
        "slurm",
        "tiny.toml",
        "--shards",
        "8",
        "--program",
        &program,
        "--no-calibration",
        "--no-wait",
        "--serial",
    ]);
    script.said(0, &[]);
    bench.write("race.sbatch", &script.out);
    let cluster = Cluster::start(&bench);
    let job = cluster.ask("sbatch", &["--parsable", "race.sbatch"]);
    let shards = bench.path("wirelap-tiny-shards");
    let third = shards.join("shard-3-of-8");
    await_row(&third, || false);
    cluster.ask("scancel", &["--signal=KILL", "--full", &format!("{job}_3")]);
    let is_over = |job: &str| cluster.ask("squeue", &["-h", "-j", job, "-o", "%T"]).is_empty();
    cluster.await_that("the array is over", |_| is_over(&job));
    let rows = first_attempts(&third).len();
    assert!((1..4).contains(&rows), "{rows} of its four trials were done when it was killed");
    let refused = bench.run(&["merge", "wirelap-tiny-shards", "--keep-bad"]);
    refused.said(2, &["the run is not whole: no row is there of ", "shard-3-of-8"]);
    let again = cluster.ask("sbatch", &["--parsable", "--array=3", "race.sbatch"]);
    cluster.await_that("the shard is over", |_| is_over(&again));
    drop(cluster);
    bench.run(&["merge", "wirelap-tiny-shards", "--keep-bad", "--out", "run"]).raced();
    assert_whole(&bench, "tiny.toml", "run");
    assert_eq!(bench.alive(), []);
}
