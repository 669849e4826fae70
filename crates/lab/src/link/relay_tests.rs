//! The relay by itself, its driver played by hand.

use super::*;
use endpoint::Checked;
use std::cell::RefCell;
use std::rc::Rc;

const NOW: Instant = Instant::ZERO;

struct Driver {
    relay: Checked<Relay>,
    told: Rc<RefCell<Vec<SocketError>>>,
}

impl Driver {
    fn new(addresses: &[&str]) -> Self {
        let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let told = Rc::new(RefCell::new(Vec::new()));
        let log = Rc::clone(&told);
        let route = Route { service: "shop".to_owned(), addresses };
        let targets = Targets::Routes(vec![route]);
        let relay = Relay::new(targets, Box::new(move |_, error| log.borrow_mut().push(error)));
        Self::of(relay, told)
    }

    fn of(relay: Relay, told: Rc<RefCell<Vec<SocketError>>>) -> Self {
        let mut driver = Self { relay: Checked::new(relay), told };
        driver.relay.handle_start(NOW);
        assert_eq!(driver.actions(), []);
        driver
    }

    fn actions(&mut self) -> Vec<Action> {
        std::iter::from_fn(|| self.relay.poll_action()).collect()
    }

    /// A connection is taken: the client's socket, the service's and the first address tried.
    fn accept(&mut self) -> (SocketId, SocketId, SocketAddr) {
        let address = "127.0.0.1:1".parse().unwrap();
        let accepted = Accepted { listener: 0, local: address, remote: address };
        let client = self.relay.handle_accepted(NOW, accepted).unwrap();
        match &self.actions()[..] {
            &[Action::Connect { socket, remote, .. }] => (client, socket, remote),
            other => panic!("{other:?}"),
        }
    }

    fn connected(&mut self) -> (SocketId, SocketId) {
        let (client, service, address) = self.accept();
        self.relay.handle_connected(NOW, service, address);
        assert_eq!(self.actions(), []);
        (client, service)
    }

    fn transmit(&mut self, socket: SocketId, limit: usize) -> (usize, Vec<Action>) {
        let mut out = SendBuf::new();
        self.relay.poll_transmit(NOW, socket, &mut out, limit);
        (out.len(), self.actions())
    }
}

#[test]
fn bytes_that_come_before_the_service_is_reached_wait_for_it() {
    let mut driver = Driver::new(&["127.0.0.1:80"]);
    let (client, service, address) = driver.accept();
    driver.relay.handle_bytes(NOW, client, b"hello");
    assert_eq!(driver.actions(), []);
    driver.relay.handle_eof(NOW, client);
    assert_eq!(driver.actions(), []);
    driver.relay.handle_connected(NOW, service, address);
    assert_eq!(driver.actions(), [Action::Transmit(service)]);
    // The FIN comes behind the bytes, and the way back stays open.
    assert_eq!(driver.transmit(service, 100), (5, vec![Action::Shutdown(service)]));
    driver.relay.handle_bytes(NOW, service, b"answer");
    assert_eq!(driver.actions(), [Action::Transmit(client)]);
    driver.relay.handle_eof(NOW, service);
    assert_eq!(driver.actions(), []);
    let ends = [Action::Shutdown(client), Action::Close(client), Action::Close(service)];
    assert_eq!(driver.transmit(client, 100), (6, ends.to_vec()));
}

#[test]
fn a_side_whose_bytes_are_not_taken_is_not_read() {
    let mut driver = Driver::new(&["127.0.0.1:80"]);
    let (client, service) = driver.connected();
    driver.relay.handle_bytes(NOW, client, &vec![0; FULL - 1]);
    assert_eq!(driver.actions(), [Action::Transmit(service)]);
    driver.relay.handle_bytes(NOW, client, &[0]);
    assert_eq!(driver.actions(), [Action::Transmit(service), Action::Pause(client)]);
    assert_eq!(driver.transmit(service, FULL / 2 - 1), (FULL / 2 - 1, vec![]));
    assert_eq!(driver.transmit(service, 1), (1, vec![Action::Resume(client)]));
}

#[test]
fn a_proxy_connects_to_what_was_asked_for_and_holds_no_more_than_its_buffer() {
    let relay = Relay::new(Targets::AsAsked { buffer: 1_000 }, Box::new(|_, _| ()));
    let mut driver = Driver::of(relay, Rc::default());
    for asked in ["10.77.1.1:443", "10.77.1.2:443", "10.77.1.1:443"] {
        let (local, remote) = (asked.parse().unwrap(), "10.77.0.1:40000".parse().unwrap());
        let accepted = Accepted { listener: 0, local, remote };
        let client = driver.relay.handle_accepted(NOW, accepted).unwrap();
        let [Action::Connect { socket, remote, .. }] = driver.actions()[..] else { panic!() };
        assert_eq!(remote, local);
        driver.relay.handle_connected(NOW, socket, local);
        assert_eq!(driver.actions(), []);
        driver.relay.handle_bytes(NOW, client, &[0; 999]);
        assert_eq!(driver.actions(), [Action::Transmit(socket)]);
        driver.relay.handle_bytes(NOW, client, &[0]);
        assert_eq!(driver.actions(), [Action::Transmit(socket), Action::Pause(client)]);
    }
}

#[test]
fn a_reset_is_passed_on() {
    for fails in [0, 1] {
        let mut driver = Driver::new(&["127.0.0.1:80"]);
        let (client, service) = driver.connected();
        let sides = [client, service];
        driver.relay.handle_error(NOW, sides[fails], SocketError::Reset);
        assert_eq!(driver.actions(), [Action::Abort(sides[1 - fails])]);
    }
}

#[test]
fn every_address_is_tried_before_the_client_is_reset_and_the_user_told_once() {
    let mut driver = Driver::new(&["[::1]:80", "127.0.0.1:80"]);
    for _ in 0..2 {
        let (client, service, first) = driver.accept();
        assert!(first.is_ipv6());
        driver.relay.handle_error(NOW, service, SocketError::Refused);
        let [Action::Connect { socket, remote, .. }] = driver.actions()[..] else { panic!() };
        assert!(socket == service && remote.is_ipv4());
        driver.relay.handle_error(NOW, service, SocketError::Refused);
        assert_eq!(driver.actions(), [Action::Abort(client)]);
        assert_eq!(*driver.told.borrow(), [SocketError::Refused]);
    }
    // It was there meanwhile.
    let (_, service) = driver.connected();
    driver.relay.handle_error(NOW, service, SocketError::Reset);
    driver.actions();
    let (_, service, _) = driver.accept();
    driver.relay.handle_error(NOW, service, SocketError::Refused);
    driver.actions();
    driver.relay.handle_error(NOW, service, SocketError::TimedOut);
    assert_eq!(*driver.told.borrow(), [SocketError::Refused, SocketError::TimedOut]);
}
