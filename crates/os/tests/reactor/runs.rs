//! Runs of one reactor, from the first to the last event, and the kernels that refuse one.

use crate::SOCKET;
use crate::script::{Seen, listening, scripted};
use endpoint::Action;
use os::reactor::Backend;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

with_each_backend! {
    a_reactor_that_has_run_runs_again
    nothing_is_told_to_an_end_point_that_has_finished
}

/// `Checked` fails this where anything follows the end.
fn nothing_is_told_to_an_end_point_that_has_finished(backend: Backend) {
    let (mut reactor, address, stop) = listening(backend).unwrap();
    let streams: Vec<_> = (0..20).map(|_| TcpStream::connect(address).unwrap()).collect();
    stop.stop();
    let mut accepted = 0;
    let mut end_point = scripted(|desk, seen| {
        if let Seen::Accepted(socket) = seen {
            accepted += 1;
            if accepted == 3 {
                desk.timeout = Some(os::clock::now());
                // More than its peer takes, so that the reactor goes on for a while.
                desk.send(socket, &vec![0; 10_000_000]);
                desk.act(Action::Close(socket));
                desk.act(Action::Finish);
            }
        }
    });
    let peers = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        drop(streams);
    });
    reactor.run(&mut end_point).unwrap();
    assert_eq!(accepted, 3);
    peers.join().unwrap();
    // Those that waited meanwhile are the next run's.
    let mut end_point = scripted(|desk, seen| {
        if matches!(seen, Seen::Accepted(_)) {
            desk.act(Action::Finish);
        }
    });
    reactor.run(&mut end_point).unwrap();
}

fn a_reactor_that_has_run_runs_again(backend: Backend) {
    let (mut reactor, address, _stop) = listening(backend).unwrap();
    for round in 0..3_u8 {
        let peer = thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&[round]).unwrap();
            // What the end point leaves behind when it finishes is closed.
            assert!(stream.read_to_end(&mut Vec::new()).unwrap_or(0) == 0);
        });
        let mut seen_last = None;
        let mut end_point = scripted(|desk, seen| {
            if matches!(seen, Seen::Bytes(..)) {
                desk.act(Action::Finish);
            }
            seen_last = Some(seen);
        });
        reactor.run(&mut end_point).unwrap();
        assert_eq!(seen_last, Some(Seen::Bytes(SOCKET, vec![round])));
        peer.join().unwrap();
    }
}

#[test]
fn a_kernel_that_refuses_io_uring_is_told_with_the_way_out() {
    // A thread of its own: the filter stays on it.
    let refused = thread::spawn(|| {
        refuse_io_uring();
        Backend::Epoll.probe().unwrap();
        Backend::IoUring.probe().unwrap_err()
    });
    let error = refused.join().unwrap();
    assert_eq!(error.source.kind(), ErrorKind::PermissionDenied);
    assert!(error.to_string().contains("io_uring"), "{error}");
    assert!(error.remedy().is_some_and(|remedy| remedy.contains("--reactor epoll")));
}

/// What a container's filter does (seccomp(2)): the call fails with EPERM.
fn refuse_io_uring() {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let refusal = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut program = [
        // The call's number stands first in seccomp_data.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            jf: 1,
            ..statement(
                libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
                libc::SYS_io_uring_setup as u32,
            )
        },
        statement(libc::BPF_RET | libc::BPF_K, refusal),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: plain flags, then a program that lives through the call.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const filter), 0);
    }
}
