//! What becomes of connections over QUIC whose path changes under way: their client's port, or the server behind the address.

use crate::answered;
use crate::bench::Bench;
use crate::http3::{end, own_at, own_with, site};
use serde_json::Value;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A NAT of one client: the server sees the port of its `back`.
struct Nat {
    front: SocketAddr,
    inside: Arc<Inside>,
}

struct Inside {
    front: UdpSocket,
    client: Mutex<Option<SocketAddr>>,
    back: Mutex<Arc<UdpSocket>>,
    sent: AtomicU64,
    is_over: AtomicBool,
}

impl Nat {
    fn before(server: SocketAddr) -> Self {
        let front = UdpSocket::bind("127.0.0.1:0").unwrap();
        front.set_read_timeout(Some(TICK)).unwrap();
        let address = front.local_addr().unwrap();
        let inside = Inside {
            front,
            client: Mutex::default(),
            back: Mutex::new(back(server)),
            sent: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        };
        let inside = Arc::new(inside);
        inside.read_back();
        let up = Arc::clone(&inside);
        std::thread::spawn(move || up.carry_up());
        Self { front: address, inside }
    }

    /// From now on the client's datagrams go to `server` from another port, and nothing comes by the one before.
    fn rebind(&self, server: SocketAddr) {
        *self.inside.back.lock().unwrap() = back(server);
        self.inside.read_back();
    }

    /// Waits until so many more datagrams of the client were carried.
    fn await_datagrams(&self, more: u64) {
        let begun = self.inside.sent.load(Ordering::Relaxed);
        while self.inside.sent.load(Ordering::Relaxed) < begun + more {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Nat {
    fn drop(&mut self) {
        self.inside.is_over.store(true, Ordering::Relaxed);
    }
}

impl Inside {
    fn carry_up(&self) {
        let mut bytes = [0; 65_536];
        while !self.is_over.load(Ordering::Relaxed) {
            let Ok((length, client)) = self.front.recv_from(&mut bytes) else { continue };
            // A long header begins a connection (RFC 9000 §17.2); the last packet of the one before it may come later.
            if bytes[0] & 0x80 != 0 {
                *self.client.lock().unwrap() = Some(client);
            }
            let back = Arc::clone(&self.back.lock().unwrap());
            // Refused while nothing listens behind it.
            let _ = back.send(&bytes[..length]);
            self.sent.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Carries down what comes to the present port, for as long as it is that.
    fn read_back(self: &Arc<Self>) {
        let inside = Arc::clone(self);
        let back = Arc::clone(&self.back.lock().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while !inside.is_over.load(Ordering::Relaxed)
                && Arc::ptr_eq(&back, &inside.back.lock().unwrap())
            {
                let Ok(length) = back.recv(&mut bytes) else { continue };
                let client = *inside.client.lock().unwrap();
                if let Some(client) = client {
                    let _ = inside.front.send_to(&bytes[..length], client);
                }
            }
        });
    }
}

fn back(server: SocketAddr) -> Arc<UdpSocket> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(TICK)).unwrap();
    Arc::new(socket)
}

const TICK: Duration = Duration::from_millis(20);

fn loopback(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

/// The kernel closes what a killed process had in an io_uring some time after its end.
fn await_free(port: u16) {
    let is_free =
        || UdpSocket::bind(loopback(port)).is_ok() && TcpListener::bind(loopback(port)).is_ok();
    while !is_free() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A load over one connection through `nat`, while `meanwhile` happens.
fn loaded(bench: &Bench, nat: &Nat, flags: &[&str], meanwhile: impl FnOnce()) -> Value {
    let url = format!("https://{}/hello", nat.front);
    let load = ["load", "--json", "-k", "--http3", "-c", "1", "--timeout", "3s", &url];
    let loading = bench.start(bench.wirelap(&[&load, flags].concat()));
    meanwhile();
    let ran = loading.end();
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"))
}

#[test]
fn a_connection_keeps_its_thread_when_its_client_s_port_changes() {
    let Some(bench) = site() else { return };
    let (server, port) = own_with(&bench, &["--threads", "16"]);
    let nat = Nat::before(loopback(port));
    let result = loaded(&bench, &nat, &["--rate", "100", "-d", "6s"], || {
        for _ in 0..3 {
            nat.await_datagrams(50);
            // A server goes with its client once a second.
            std::thread::sleep(Duration::from_millis(1_100));
            nat.rebind(loopback(port));
        }
    });
    assert_eq!(answered(&result), 600, "{result:#}");
    assert_eq!(result["connects"]["opened"], 1, "{result:#}");
    end(server);
}

#[test]
fn a_server_that_does_not_know_the_connection_costs_a_request_and_no_more() {
    let Some(bench) = site() else { return };
    let [(one, port), (other, elsewhere)] = [(); 2].map(|()| own_with(&bench, &[]));
    let nat = Nat::before(loopback(port));
    let result = loaded(&bench, &nat, &["-n", "2000"], || {
        nat.await_datagrams(200);
        nat.rebind(loopback(elsewhere));
    });
    // Its resets are not those of the server at the other address: the request runs out of time.
    let whole = &result["whole"];
    assert_eq!((&whole["errors"]["timed-out"], &whole["answers"]), (&1.into(), &1_999.into()));
    assert_eq!(result["connects"]["opened"], 2, "{result:#}");
    end(one);
    end(other);
}

#[test]
fn a_server_that_begins_anew_ends_the_connections_of_the_one_before_it() {
    let Some(bench) = site() else { return };
    let (before, port) = own_with(&bench, &[]);
    let nat = Nat::before(loopback(port));
    let mut after = None;
    let result = loaded(&bench, &nat, &["-n", "2000"], || {
        nat.await_datagrams(200);
        // Where nothing answers, not even an ICMP message.
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        nat.rebind(silent.local_addr().unwrap());
        before.signal("KILL");
        before.end();
        await_free(port);
        after = Some(own_at(&bench, port, &[]));
        nat.rebind(loopback(port));
    });
    let whole = &result["whole"];
    assert_eq!(
        whole["errors"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>(),
        1
    );
    assert_eq!((&whole["errors"]["timed-out"], &whole["answers"]), (&Value::Null, &1_999.into()));
    assert_eq!(result["connects"]["opened"], 2, "{result:#}");
    end(after.unwrap());
}
