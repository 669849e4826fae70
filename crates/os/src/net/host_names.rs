//! An /etc/hosts of our own that only our children see. The one rule: nothing of the machine's file system is written.
//! The files are on a tmpfs in our own mount namespace.
#![allow(unsafe_code)]

use crate::error::Os;
use crate::net::namespace::{check, mount};
use std::ffi::CString;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::IpAddr;

/// Where the tmpfs is mounted for a moment: any existing folder will do.
const FOLDERS: [&str; 3] = ["/tmp", "/run", "/mnt"];

/// RFC 6724's table, which ranks IPv4 above unique local addresses, as most resolvers do. glibc's default is that of
/// RFC 3484. With this table a program that knows only a name tries IPv4 first, and a server that has only IPv4 costs
/// it no round trip.
const PRECEDENCE: &str = "precedence ::1/128 50\nprecedence ::/0 40\nprecedence ::ffff:0:0/96 35\n\
    precedence 2002::/16 30\nprecedence 2001::/32 5\nprecedence fc00::/7 3\n\
    label ::1/128 0\nlabel ::/0 1\nlabel 2002::/16 2\nlabel ::/96 3\nlabel ::ffff:0:0/96 4\n\
    label fc00::/7 13\n";

/// Replaces /etc/hosts for this mount namespace, and glibc's order of addresses.
pub(crate) fn install(names: &[(IpAddr, Vec<String>)]) -> Result<(), Os> {
    let failed = |source: io::Error| {
        let missing = source.kind() == io::ErrorKind::NotFound;
        let error = Os::new("give the namespace its /etc/hosts", source);
        if missing { error.with_remedy("sudo touch /etc/hosts") } else { error }
    };
    let folder = FOLDERS.iter().find(|folder| fs::metadata(folder).is_ok()).unwrap_or(&"/tmp");
    mount("tmpfs", folder, "tmpfs", 0).map_err(failed)?;
    // A file that does not exist cannot be mounted over. Without gai.conf, names resolve to IPv4 only.
    let ranked = cover(folder, "gai.conf", PRECEDENCE).is_ok();
    let bound = cover(folder, "hosts", &text(names, ranked));
    // The bind mounts keep the files alive after the tmpfs is unmounted.
    unmount(folder).map_err(failed)?;
    bound.map_err(failed)
}

fn cover(folder: &str, name: &str, text: &str) -> io::Result<()> {
    let file = format!("{folder}/{name}");
    fs::write(&file, text)?;
    mount(&file, &format!("/etc/{name}"), "", libc::MS_BIND)
}

fn text(names: &[(IpAddr, Vec<String>)], ranked: bool) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n".to_owned();
    if let Ok(name) = fs::read_to_string("/proc/sys/kernel/hostname") {
        let _ = writeln!(text, "127.0.1.1 {}", name.trim());
    }
    let wanted = names.iter().filter(|(address, _)| ranked || address.is_ipv4());
    for (address, names) in wanted.filter(|(_, names)| !names.is_empty()) {
        let _ = writeln!(text, "{address} {}", names.join(" "));
    }
    text
}

fn unmount(folder: &str) -> io::Result<()> {
    let folder = CString::new(folder)?;
    // SAFETY: a NUL-terminated string that outlives the call.
    check(unsafe { libc::umount2(folder.as_ptr(), libc::MNT_DETACH) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_stands_on_a_line_of_its_own() {
        let far = ("10.77.0.2".parse().unwrap(), vec!["far".to_owned(), "a.example".to_owned()]);
        let silent = ("10.77.1.1".parse().unwrap(), Vec::new());
        let text = text(&[far, silent], true);
        assert!(text.contains("\n10.77.0.2 far a.example\n"), "{text}");
        assert!(!text.contains("10.77.1.1"), "{text}");
    }

    #[test]
    fn ipv6_stands_there_only_where_ipv4_can_be_ranked_above_it() {
        let far = [("fd77::2".parse().unwrap(), vec!["far".to_owned()])];
        assert!(text(&far, true).contains("fd77::2 far"));
        assert!(!text(&far, false).contains("fd77::2"));
    }
}
