//! What a device does for the kernel's stack, read and set by the ethtool ioctl (linux/ethtool.h).
#![allow(unsafe_code)]

use crate::error::Os;
use crate::net::namespace::{check, new_fd};
use std::os::fd::AsRawFd;

const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// ETHTOOL_GTXCSUM, GSG, GTSO, GGSO, GGRO.
const FEATURES: [(&str, u32); 5] =
    [("tx-checksum", 0x16), ("sg", 0x18), ("tso", 0x1e), ("gso", 0x23), ("gro", 0x2b)];

#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// ETHTOOL_STSO, SGSO, SGRO: offloads that join segments into super-packets and keep them joined.
const SUPER_PACKETS: [u32; 3] = [0x1f, 0x24, 0x2c];

/// `tx-checksum on, sg on, …` of a device of this thread's network namespace.
pub(crate) fn of(device: &str) -> Result<String, Os> {
    let told: Result<Vec<String>, Os> = FEATURES
        .iter()
        .map(|(name, command)| {
            let value = ask(device, Value { command: *command, data: 0 })?;
            Ok(format!("{name} {}", if value == 0 { "off" } else { "on" }))
        })
        .collect();
    Ok(told?.join(", "))
}

/// Makes a device of this thread's network namespace carry single segments, as a real wire does.
pub(crate) fn turn_off_super_packets(device: &str) -> Result<(), Os> {
    SUPER_PACKETS.iter().try_for_each(|&command| ask(device, Value { command, data: 0 }).map(drop))
}

fn ask(device: &str, mut value: Value) -> Result<u32, Os> {
    let attempted = || format!("ask for the offloads of {device}");
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: socket takes no pointers.
    let socket = new_fd(unsafe { libc::socket(libc::AF_INET, kind, 0) }.into())
        .map_err(|source| Os::new(attempted(), source))?;
    // SAFETY: plain data, zero is a valid value of each field.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes().take(15)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request and the value that it points at are live; the kernel writes `data` alone.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    check(result).map_err(|source| Os::new(attempted(), source))?;
    Ok(value.data)
}
