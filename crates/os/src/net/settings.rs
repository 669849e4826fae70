//! Kernel settings of a namespace. Each is set and read back, because a write can succeed without effect.

use crate::process::Cpu;
use std::collections::BTreeMap;
use std::fs;

/// Settings by name (`near net.ipv4.tcp_rmem`), as read back after they were set.
pub type Settings = BTreeMap<String, String>;

/// What TCP does at both ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpSettings {
    /// Congestion control, set by route: the kernel refuses the sysctl for restricted algorithms, even to root.
    pub congestion: String,
    /// Initial congestion window in segments.
    pub initial_window: u32,
    /// Initial receive window in segments; None for the kernel's default, 64 kB.
    pub initial_receive_window: Option<u32>,
    /// The largest receive and send buffer. The kernel's default of 4 MB limits a 50 ms path to 450 Mbit/s.
    pub greatest_buffer: u32,
    /// Further sysctls, by name below /proc/sys (`net.ipv4.tcp_slow_start_after_idle`), set last.
    pub further: Vec<(String, String)>,
}

impl Default for TcpSettings {
    fn default() -> Self {
        Self {
            congestion: "cubic".to_owned(),
            initial_window: 10,
            initial_receive_window: None,
            greatest_buffer: 64 << 20,
            further: Vec::new(),
        }
    }
}

impl TcpSettings {
    /// The sysctls for these settings. Some repeat the kernel's default, because distributions and later kernels may
    /// have another.
    fn sysctls(&self) -> Vec<(String, String)> {
        let buffer = self.greatest_buffer;
        let fixed = [
            // Linux begins with the second figure, even where the third is less.
            ("net.ipv4.tcp_rmem", format!("4096 {} {buffer}", buffer.min(131_072))),
            ("net.ipv4.tcp_wmem", format!("4096 16384 {buffer}")),
            ("net.ipv4.tcp_slow_start_after_idle", "1".to_owned()),
            ("net.ipv4.tcp_no_metrics_save", "1".to_owned()),
            ("net.ipv4.tcp_fastopen", "0".to_owned()),
            ("net.ipv4.tcp_autocorking", "1".to_owned()),
            ("net.ipv4.tcp_ecn", "2".to_owned()),
            ("net.ipv4.tcp_timestamps", "1".to_owned()),
            ("net.ipv4.tcp_sack", "1".to_owned()),
            ("net.ipv4.tcp_mtu_probing", "0".to_owned()),
            // One trial may open many short connections. The default of 28,000 ports would do, were it not for
            // TIME_WAIT.
            ("net.ipv4.ip_local_port_range", "10240 65535".to_owned()),
            ("net.ipv4.ping_group_range", "0 0".to_owned()),
        ];
        let fixed = fixed.into_iter().map(|(name, value)| (name.to_owned(), value));
        fixed.chain(self.further.iter().cloned()).collect()
    }

    /// Sets them in this thread's namespace and stores the values read back, under `place`.
    pub(crate) fn apply(&self, place: &str, settings: &mut Settings) {
        for (name, value) in self.sysctls() {
            settings.insert(format!("{place} {name}"), set(&name, &value));
        }
    }
}

/// Settings of a device that stop the kernel from sending packets of its own.
pub(crate) fn quiet_device(device: &str) {
    for (name, value) in [("accept_dad", "0"), ("accept_ra", "0"), ("router_solicitations", "0")] {
        set(&format!("net.ipv6.conf.{device}.{name}"), value);
    }
    // No link-local address, so no multicast reports for it.
    set(&format!("net.ipv6.conf.{device}.addr_gen_mode"), "1");
    set(&format!("net.ipv6.conf.{device}.disable_ipv6"), "0");
}

/// No IPv6 on a device that only carries frames.
pub(crate) fn mute_device(device: &str) {
    set(&format!("net.ipv6.conf.{device}.disable_ipv6"), "1");
}

/// Applies the rules for forwarded packets to bridged ones too. Returns whether this worked.
pub(crate) fn rule_bridged() -> bool {
    let names = ["iptables", "ip6tables"].map(|kind| format!("net.bridge.bridge-nf-call-{kind}"));
    names.iter().all(|name| set(name, "1") == "1")
}

/// Makes `cpu` do the receiving for devices created in this thread's namespace from now on (Linux 6.3). An older kernel
/// reports an unknown setting.
pub(crate) fn receive_on(place: &str, cpu: Cpu, settings: &mut Settings) {
    const NAME: &str = "net.core.rps_default_mask";
    settings.insert(format!("{place} {NAME}"), set(NAME, &cpu_mask(cpu.number())));
}

/// One CPU in the kernel's notation for sets: groups of 32 bits, the highest first.
fn cpu_mask(cpu: usize) -> String {
    let lower = ",00000000".repeat(cpu / 32);
    format!("{:x}{lower}", 1_u32 << (cpu % 32))
}

/// Whether this kernel has IPv6.
pub(crate) fn has_ipv6() -> bool {
    fs::exists("/proc/sys/net/ipv6/conf").unwrap_or(false)
}

/// Sets one and returns the value read back. A refusal is shown in brackets.
fn set(name: &str, value: &str) -> String {
    let file = format!("/proc/sys/{}", name.replace('.', "/"));
    let written = fs::write(&file, value);
    let effective = match fs::read_to_string(&file) {
        Ok(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        Err(error) => return format!("[unreadable: {error}]"),
    };
    match written {
        Err(error) if effective != value => format!("{effective} [{value} refused: {error}]"),
        _ if effective != value => format!("{effective} [{value} had no effect]"),
        _ => effective,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_a_bit_in_groups_of_thirty_two() {
        assert_eq!(cpu_mask(0), "1");
        assert_eq!(cpu_mask(31), "80000000");
        assert_eq!(cpu_mask(70), "40,00000000,00000000");
    }
}
