//! Frames that a device dropped on their way out. On a veth pair this shows a full backlog of the receiving core
//! (`netif_rx`); /proc/net/softnet_stat counts it only for the whole machine.

use std::fs;

/// Frames that all devices of this thread's network namespace have dropped so far.
pub(super) fn dropped_frames() -> u64 {
    fs::read_to_string("/proc/thread-self/net/dev").map_or(0, |text| dropped(&text))
}

fn dropped(text: &str) -> u64 {
    // The eight columns of received frames come before those of sent ones: bytes, packets, errors, drops.
    const SENT_DROPS: usize = 8 + 3;
    let devices = text.lines().filter_map(|line| line.split_once(':'));
    devices
        .filter_map(|(_, columns)| columns.split_whitespace().nth(SENT_DROPS)?.parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_all_devices_on_their_way_out_are_added_up() {
        let text = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     100       1    0    5    0     0          0         0      100       1    0    0    0     0       0          0
  near:  431890     400    0    6    0     0          0         0  9876543    7000    0    7    0     0       0          0
  far:1 2 3 4 5 6 7 8 9 10 11 30 0 0 0 0
";
        assert_eq!(dropped(text), 37);
        assert_eq!(dropped(""), 0);
    }
}
