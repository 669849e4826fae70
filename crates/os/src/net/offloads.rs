//! What a device does for the kernel's stack, read and set by the ethtool ioctl (linux/ethtool.h).
#![allow(unsafe_code)]

use crate::error::Os;
use crate::net::namespace::{check, new_fd};
use std::os::fd::AsRawFd;

const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// ETHTOOL_GTXCSUM, GSG, GTSO, GGSO, GGRO.
const FEATURES: [(&str, u32); 5] =
    [("tx-checksum", 0x16), ("sg", 0x18), ("tso", 0x1e), ("gso", 0x23), ("gro", 0x2b)];

/// struct ethtool_value.
struct Value {
    command: u32,
    data: u32,
}

/// ETHTOOL_STSO, SGSO, SGRO: offloads that join segments into super-packets and keep them joined.
const SUPER_PACKETS: [u32; 3] = [0x1f, 0x24, 0x2c];

/// What cuts super-packets of datagrams (UDP GSO), by the name that the kernel has for it. It has no command of its own, and ETHTOOL_SGSO
/// leaves it on.
const UDP_SEGMENTATION: &str = "tx-udp-segmentation";

/// ETHTOOL_GSSET_INFO, GSTRINGS, GFEATURES, SFEATURES: features by number, and their names.
const SET_INFO: u32 = 0x37;
const STRINGS: u32 = 0x1b;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
/// ETH_SS_FEATURES: the set of strings that has the features' names, each in as many bytes as ETH_GSTRING_LEN says.
const FEATURE_NAMES: u32 = 4;
const NAME: usize = 32;

/// `tx-checksum on, sg on, …` of a device of this thread's network namespace.
pub(crate) fn of(device: &str) -> Result<String, Os> {
    let told: Result<Vec<String>, Os> = FEATURES
        .iter()
        .map(|(name, command)| {
            let value = ask(device, Value { command: *command, data: 0 })?;
            Ok(format!("{name} {}", if value == 0 { "off" } else { "on" }))
        })
        .collect();
    let mut told = told?;
    if let Some(feature) = Feature::find(device, UDP_SEGMENTATION)? {
        told.push(format!("udp-gso {}", if feature.is_on(device)? { "on" } else { "off" }));
    }
    Ok(told.join(", "))
}

/// Makes a device of this thread's network namespace carry single segments, as a real wire does.
pub(crate) fn turn_off_super_packets(device: &str) -> Result<(), Os> {
    SUPER_PACKETS
        .iter()
        .try_for_each(|&command| ask(device, Value { command, data: 0 }).map(drop))?;
    // A kernel before 4.18 knows no super-packets of datagrams.
    Feature::find(device, UDP_SEGMENTATION)?.map_or(Ok(()), |feature| feature.turn_off(device))
}

/// A feature of devices, by its number. Features stand in blocks of 32.
#[derive(Debug, Clone, Copy)]
struct Feature {
    number: usize,
    blocks: usize,
}

impl Feature {
    /// The feature with this name; None where the kernel has none.
    fn find(device: &str, name: &str) -> Result<Option<Self>, Os> {
        // struct ethtool_sset_info: command, reserved, which sets, and the length of each that there is.
        let asked = [SET_INFO, 0, 1 << FEATURE_NAMES, 0, 0];
        let count = words(device, &asked)?[4] as usize;
        // struct ethtool_gstrings: command, set, count, names.
        let mut asked = vec![0; 3 + count * NAME / 4];
        asked[..3].copy_from_slice(&[STRINGS, FEATURE_NAMES, count as u32]);
        let names: Vec<u8> =
            words(device, &asked)?.iter().skip(3).flat_map(|word| word.to_ne_bytes()).collect();
        let is_it = |own: &[u8]| own.split(|&byte| byte == 0).next() == Some(name.as_bytes());
        let number = names.chunks_exact(NAME).position(is_it);
        Ok(number.map(|number| Self { number, blocks: count.div_ceil(32) }))
    }

    fn block(self) -> usize {
        self.number / 32
    }

    fn bit(self) -> u32 {
        1 << (self.number % 32)
    }

    fn is_on(self, device: &str) -> Result<bool, Os> {
        // struct ethtool_gfeatures: command, blocks, and of each block what is available, requested, active, never changed.
        let mut asked = vec![0; 2 + 4 * self.blocks];
        asked[..2].copy_from_slice(&[GET_FEATURES, self.blocks as u32]);
        Ok(words(device, &asked)?[2 + 4 * self.block() + 2] & self.bit() != 0)
    }

    fn turn_off(self, device: &str) -> Result<(), Os> {
        // struct ethtool_sfeatures: command, blocks, and of each block what is to change, and to what.
        let mut asked = vec![0; 2 + 2 * self.blocks];
        asked[..2].copy_from_slice(&[SET_FEATURES, self.blocks as u32]);
        asked[2 + 2 * self.block()] = self.bit();
        words(device, &asked).map(drop)
    }
}

fn ask(device: &str, value: Value) -> Result<u32, Os> {
    Ok(words(device, &[value.command, value.data])?[1])
}

/// Passes a command's words to the kernel; gives them as the kernel leaves them. It writes no more than the command says.
fn words(device: &str, command: &[u32]) -> Result<Vec<u32>, Os> {
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
    let mut words = command.to_vec();
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: the request and the words that it points at are live; the kernel writes as many as the command says there are.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    check(result).map_err(|source| Os::new(attempted(), source))?;
    Ok(words)
}
