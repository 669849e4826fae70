//! Names' addresses, by the system's resolver (hosts file, DNS, whatever nsswitch.conf says).
//!
//! The names of the command line are asked for before anything starts, all at once. A redirect may lead to
//! another name: that one is asked for when it comes, and what is under way waits for it.

use client::Resolver;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A resolver that knows the addresses of `hosts` already.
pub(crate) fn resolver<'h>(hosts: impl IntoIterator<Item = &'h str>) -> Resolver {
    let is_name = |host: &&str| host.trim_matches(['[', ']']).parse::<IpAddr>().is_err();
    let names: BTreeSet<&str> = hosts.into_iter().filter(is_name).collect();
    let known = Arc::new(Mutex::new(BTreeMap::new()));
    let mut rest = names.into_iter().map(str::to_owned);
    let first = rest.next();
    let asked: Vec<_> = rest.map(|name| thread::spawn(move || (ask(&name), name))).collect();
    let mut found: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new();
    if let Some(name) = first {
        found.insert(name.clone(), ask(&name));
    }
    for answer in asked {
        if let Ok((addresses, name)) = answer.join() {
            found.insert(name, addresses);
        }
    }
    *known.lock().unwrap_or_else(PoisonError::into_inner) = found;
    Resolver::new(move |name| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(name) {
            // Where there was none, there may be one at the next try.
            Some(addresses) if !addresses.is_empty() => addresses.clone(),
            _ => {
                let addresses = ask(name);
                known.insert(name.to_owned(), addresses.clone());
                addresses
            }
        }
    })
}

fn ask(name: &str) -> Vec<IpAddr> {
    let answer = (name, 0).to_socket_addrs();
    let addresses: Vec<IpAddr> = answer.into_iter().flatten().map(|address| address.ip()).collect();
    in_turns(addresses)
}

/// The address families in turn, beginning with the one that the system puts first (RFC 8305 §4). If one family's
/// network is broken, the second attempt uses the other.
fn in_turns(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let first_is_v6 = addresses.first().is_some_and(IpAddr::is_ipv6);
    let (one, other): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.is_ipv6() == first_is_v6);
    let mut one = one.into_iter();
    let mut other = other.into_iter();
    let mut mixed = Vec::new();
    loop {
        let pair = [one.next(), other.next()];
        if pair == [None, None] {
            return mixed;
        }
        for address in pair.into_iter().flatten() {
            if !mixed.contains(&address) {
                mixed.push(address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns() {
        let parse = |list: [&str; 4]| list.map(|text| text.parse().unwrap()).to_vec();
        let sorted = parse(["::1", "::2", "10.0.0.1", "10.0.0.1"]);
        let mixed: Vec<_> = in_turns(sorted).iter().map(IpAddr::to_string).collect();
        assert_eq!(mixed, ["::1", "10.0.0.1", "::2"]);
    }
}
