//! An /etc/hosts of our own, seen by our children alone. The one rule: nothing of the machine's file
//! system is written; the file lives on a tmpfs that only our mount namespace has.
#![allow(unsafe_code)]

use crate::error::Os;
use crate::net::namespace::{check, mount};
use std::ffi::CString;
use std::fmt::Write as _;
use std::fs;
use std::net::IpAddr;

/// Where a tmpfs may stand for a moment: any folder that exists will do.
const FOLDERS: [&str; 3] = ["/tmp", "/run", "/mnt"];

/// Replaces /etc/hosts for this mount namespace.
pub(crate) fn install(names: &[(IpAddr, Vec<String>)]) -> Result<(), Os> {
    let failed = |source| Os::new("give the namespace its /etc/hosts", source);
    let folder = FOLDERS.iter().find(|folder| fs::metadata(folder).is_ok()).unwrap_or(&"/tmp");
    let file = format!("{folder}/hosts");
    mount("tmpfs", folder, "tmpfs", 0).map_err(failed)?;
    let bound = fs::write(&file, text(names)).and_then(|()| {
        // Where no file is, none is looked into either; but there is one on every usual machine.
        mount(&file, "/etc/hosts", "", libc::MS_BIND)
    });
    // The file outlives its tmpfs's place: the bind mount keeps it.
    unmount(folder).map_err(failed)?;
    bound.map_err(failed)
}

fn text(names: &[(IpAddr, Vec<String>)]) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n".to_owned();
    if let Ok(name) = fs::read_to_string("/proc/sys/kernel/hostname") {
        let _ = writeln!(text, "127.0.1.1 {}", name.trim());
    }
    for (address, names) in names.iter().filter(|(_, names)| !names.is_empty()) {
        let _ = writeln!(text, "{address} {}", names.join(" "));
    }
    text
}

fn unmount(folder: &str) -> std::io::Result<()> {
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
        let silent = ("10.77.1.0".parse().unwrap(), Vec::new());
        let text = text(&[far, silent]);
        assert!(text.contains("\n10.77.0.2 far a.example\n"), "{text}");
        assert!(!text.contains("10.77.1.0"), "{text}");
    }
}
