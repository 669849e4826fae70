//! Facts about the machine for the rows, read from Linux.

use std::collections::BTreeMap;
use std::fs;
use study::record::HostFacts;

/// The facts of this machine.
pub(crate) fn facts() -> HostFacts {
    let mut more = BTreeMap::new();
    for (name, file) in FACTS {
        if let Some(text) = read(file) {
            more.insert(name.to_owned(), text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    more.insert(study::merge::BUILD.to_owned(), build.to_owned());
    HostFacts {
        os: field("/etc/os-release", "PRETTY_NAME=").unwrap_or_else(|| "Linux".to_owned()),
        kernel: read("/proc/sys/kernel/osrelease").unwrap_or_default(),
        cpu: field("/proc/cpuinfo", "model name").unwrap_or_default(),
        cores: cores(),
        memory_bytes: field("/proc/meminfo", "MemTotal")
            .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
            .map_or(0, |kib| kib * 1024),
        root: is_root(),
        calibration: None,
        more,
    }
}

/// What this machine is called.
pub(crate) fn host_name() -> String {
    read("/proc/sys/kernel/hostname")
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "?".to_owned())
}

/// What the kernel calls the time since it was started: no other machine has it, and all containers on one have.
pub(crate) fn boot() -> String {
    read("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Further facts, by the files that hold them. The settings of the trials' namespaces are in their rows.
const FACTS: [(&str, &str); 15] = [
    ("congestion control of the host", "/proc/sys/net/ipv4/tcp_congestion_control"),
    ("congestion controls there are", "/proc/sys/net/ipv4/tcp_available_congestion_control"),
    (HostFacts::LOAD, "/proc/loadavg"),
    ("clock source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("frequency governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ("net.core.rmem_max", "/proc/sys/net/core/rmem_max"),
    ("net.core.wmem_max", "/proc/sys/net/core/wmem_max"),
    ("net.core.netdev_max_backlog", "/proc/sys/net/core/netdev_max_backlog"),
    ("net.ipv4.tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem"),
    ("net.ipv4.tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem"),
    ("net.ipv4.tcp_slow_start_after_idle", "/proc/sys/net/ipv4/tcp_slow_start_after_idle"),
    ("net.ipv4.tcp_ecn", "/proc/sys/net/ipv4/tcp_ecn"),
    ("net.ipv4.tcp_fastopen", "/proc/sys/net/ipv4/tcp_fastopen"),
    ("net.ipv4.tcp_autocorking", "/proc/sys/net/ipv4/tcp_autocorking"),
    ("net.ipv4.tcp_notsent_lowat", "/proc/sys/net/ipv4/tcp_notsent_lowat"),
];

/// Cores that this process may use.
pub(crate) fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

/// Whether this process is root's.
pub(crate) fn is_root() -> bool {
    field("/proc/self/status", "Uid:").is_some_and(|ids| ids.split_whitespace().nth(1) == Some("0"))
}

/// A file's text, without the space around it.
pub(crate) fn read(file: &str) -> Option<String> {
    Some(fs::read_to_string(file).ok()?.trim().to_owned())
}

/// The text after `name` on its line, without colon, equals sign and quotes.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start_matches([':', '=', '\t', ' ']).trim_matches('"').trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_a_kernel_a_core_and_memory() {
        let facts = facts();
        assert!(!facts.kernel.is_empty());
        assert!(facts.cores >= 1);
        assert!(facts.memory_bytes > 1 << 20);
    }
}
