//! Its own process, because it takes all descriptors away from itself.
#![allow(unsafe_code, reason = "libc calls that a test needs")]
#![allow(clippy::unwrap_used, reason = "a test's own machinery may panic")]

mod script;

use endpoint::Action;
use os::reactor::Backend;
use script::{Desk, Seen, is_there, listening, scripted_from};
use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn a_reactor_without_descriptors_rests_and_accepts_again_later() {
    // One after the other, since each takes all there are.
    for backend in [Backend::Epoll, Backend::IoUring] {
        if is_there(backend) {
            rests_and_accepts_again(backend);
        }
    }
}

fn rests_and_accepts_again(backend: Backend) {
    let (mut reactor, address, stop) = listening(backend).unwrap();
    let waiting = TcpStream::connect(address).unwrap();
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls get a valid rlimit.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
        limit.rlim_cur = 64;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
    }
    let mut hoard: Vec<_> = std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect();
    assert!(hoard.len() > 8, "descriptors were there to be taken");
    let mut timeouts = 0;
    let begin =
        Desk { timeout: Some(os::clock::now() + Duration::from_millis(50)), ..Desk::default() };
    let mut end_point = scripted_from(begin, |desk, seen| match seen {
        Seen::Timeout => {
            timeouts += 1;
            hoard.clear();
        }
        Seen::Accepted(socket) => {
            assert_eq!(timeouts, 1, "no descriptor was to be had before");
            desk.act(Action::Close(socket));
            stop.stop();
        }
        Seen::Stop => desk.act(Action::Finish),
        other => panic!("{other:?}"),
    });
    let peer = std::thread::spawn(move || {
        let mut waiting = waiting;
        waiting.read_to_end(&mut Vec::new()).unwrap()
    });
    reactor.run(&mut end_point).unwrap();
    assert_eq!(peer.join().unwrap(), 0);
}
