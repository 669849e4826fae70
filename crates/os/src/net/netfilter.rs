//! Rules that make the kernel queue the packets that it forwards (nf_tables over nfnetlink). The one rule: a packet
//! without a verdict is dropped, since a link without a forwarder carries nothing.
#![allow(unsafe_code)]

use crate::net::message::{NLM_F_CREATE, Request, acknowledged, kind};
use crate::net::namespace::{check, new_fd};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Makes queue 0 take every IP packet forwarded through this thread's namespace. After an error nothing is changed.
pub(super) fn queue_forwarded() -> io::Result<()> {
    install(queue_expression).or_else(|_| install(queue_target))
}

/// A socket to a subsystem of netfilter, in this thread's namespace.
pub(super) fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: socket takes no pointers.
    new_fd(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_NETFILTER) }.into())
}

/// Sends requests in one piece and reads the outcome of each.
pub(super) fn transact(socket: &OwnedFd, requests: Vec<Request>) -> io::Result<()> {
    let bytes: Vec<u8> =
        (1..).zip(requests).flat_map(|(number, request)| request.finish(number)).collect();
    // The kernel acknowledges each message of a batch, but not the batch's own begin and end.
    let asked = messages(&bytes).filter(|message| is_acknowledged(message)).count();
    // SAFETY: the buffer is valid for its length; the kernel copies it.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
    check(sent as libc::c_int)?;
    let mut answered = 0;
    let mut reply = vec![0_u8; 8192];
    while answered < asked {
        // SAFETY: the buffer is valid for its length.
        let length =
            unsafe { libc::recv(socket.as_raw_fd(), reply.as_mut_ptr().cast(), reply.len(), 0) };
        check(length as libc::c_int)?;
        for message in messages(&reply[..length as usize]) {
            acknowledged(message)?;
            answered += 1;
        }
    }
    Ok(())
}

/// The header before a message's attributes: struct nfgenmsg.
pub(super) fn family(family: libc::c_int, resource: u16) -> [u8; 4] {
    let [high, low] = resource.to_be_bytes();
    [family as u8, 0, high, low]
}

/// The consecutive messages in `bytes`.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = bytes.get(..4)?.try_into().map_or(0, u32::from_ne_bytes) as usize;
        let message = bytes.get(..length).filter(|message| !message.is_empty())?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

/// The begin and end of a batch are not acknowledged.
fn is_acknowledged(message: &[u8]) -> bool {
    !kind(message).is_some_and(|kind| [BATCH_BEGIN, BATCH_END].contains(&kind))
}

const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
/// linux/netfilter/nfnetlink.h's number of nf_tables.
const NF_TABLES: u16 = 10;
/// linux/netfilter.h's NFPROTO_INET: IPv4 and IPv6.
const INET: libc::c_int = 1;
/// Of the table and of its one chain.
const NAME: &str = "wirelap";

fn install(action: fn(&mut Request)) -> io::Result<()> {
    let requests = vec![batch(BATCH_BEGIN), table(), chain(), rule(action), batch(BATCH_END)];
    transact(&socket()?, requests)
}

fn batch(end: u16) -> Request {
    let mut request = Request::unacknowledged(end);
    request.body(&family(libc::AF_UNSPEC, NF_TABLES));
    request
}

/// A request to nf_tables.
fn request(message: u16, flags: u16) -> Request {
    let mut request = Request::new(NF_TABLES << 8 | message, flags);
    request.body(&family(INET, 0));
    request
}

fn table() -> Request {
    const NFT_MSG_NEWTABLE: u16 = 0;
    const NFTA_TABLE_NAME: u16 = 1;
    let mut request = request(NFT_MSG_NEWTABLE, NLM_F_CREATE);
    request.text(NFTA_TABLE_NAME, NAME);
    request
}

/// A chain that sees packets forwarded from device to device. It drops those that no rule takes.
fn chain() -> Request {
    const NFT_MSG_NEWCHAIN: u16 = 3;
    const NFTA_CHAIN_TABLE: u16 = 1;
    const NFTA_CHAIN_NAME: u16 = 3;
    const NFTA_CHAIN_HOOK: u16 = 4;
    const NFTA_HOOK_HOOKNUM: u16 = 1;
    const NFTA_HOOK_PRIORITY: u16 = 2;
    const NFTA_CHAIN_POLICY: u16 = 5;
    const NFTA_CHAIN_TYPE: u16 = 7;
    const NF_INET_FORWARD: u32 = 2;
    const NF_DROP: u32 = 0;
    let mut request = request(NFT_MSG_NEWCHAIN, NLM_F_CREATE);
    request.text(NFTA_CHAIN_TABLE, NAME);
    request.text(NFTA_CHAIN_NAME, NAME);
    request.nested(NFTA_CHAIN_HOOK, |attached| {
        attached.attribute(NFTA_HOOK_HOOKNUM, &NF_INET_FORWARD.to_be_bytes());
        attached.attribute(NFTA_HOOK_PRIORITY, &0_u32.to_be_bytes());
    });
    request.attribute(NFTA_CHAIN_POLICY, &NF_DROP.to_be_bytes());
    request.text(NFTA_CHAIN_TYPE, "filter");
    request
}

/// A rule that applies `action` to every packet.
fn rule(action: fn(&mut Request)) -> Request {
    const NFT_MSG_NEWRULE: u16 = 6;
    const NFTA_RULE_TABLE: u16 = 1;
    const NFTA_RULE_CHAIN: u16 = 2;
    const NFTA_RULE_EXPRESSIONS: u16 = 4;
    let mut request = request(NFT_MSG_NEWRULE, NLM_F_CREATE);
    request.text(NFTA_RULE_TABLE, NAME);
    request.text(NFTA_RULE_CHAIN, NAME);
    request.nested(NFTA_RULE_EXPRESSIONS, action);
    request
}

fn expression(list: &mut Request, name: &str, data: impl FnOnce(&mut Request)) {
    const NFTA_LIST_ELEM: u16 = 1;
    const NFTA_EXPR_NAME: u16 = 1;
    const NFTA_EXPR_DATA: u16 = 2;
    list.nested(NFTA_LIST_ELEM, |element| {
        element.text(NFTA_EXPR_NAME, name);
        element.nested(NFTA_EXPR_DATA, data);
    });
}

/// As nf_tables have it (CONFIG_NFT_QUEUE).
fn queue_expression(list: &mut Request) {
    const NFTA_QUEUE_NUM: u16 = 1;
    const NFTA_QUEUE_TOTAL: u16 = 2;
    expression(list, "queue", |data| {
        data.attribute(NFTA_QUEUE_NUM, &0_u16.to_be_bytes());
        data.attribute(NFTA_QUEUE_TOTAL, &1_u16.to_be_bytes());
    });
}

/// The same as an x_tables target (CONFIG_NETFILTER_XT_TARGET_NFQUEUE), for kernels whose nf_tables take these
/// (CONFIG_NFT_COMPAT).
fn queue_target(list: &mut Request) {
    const NFTA_TARGET_NAME: u16 = 1;
    const NFTA_TARGET_REV: u16 = 2;
    const NFTA_TARGET_INFO: u16 = 3;
    expression(list, "target", |data| {
        data.text(NFTA_TARGET_NAME, "NFQUEUE");
        data.attribute(NFTA_TARGET_REV, &0_u32.to_be_bytes());
        // struct xt_NFQ_info, the queue's number, padded as XT_ALIGN has it.
        data.attribute(NFTA_TARGET_INFO, &[0; 8]);
    });
}
