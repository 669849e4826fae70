use super::*;

fn pool(protocol: Option<Protocol>) -> (Pool, OriginId) {
    let mut pool = Pool::new(PoolLimits::default());
    let origin = Origin { scheme: Scheme::Https, host: "a.example".into(), port: 443 };
    let id = pool.enter(origin, protocol);
    (pool, id)
}

fn open(available: usize) -> MemberState {
    MemberState::Open { available, load: Load::Idle }
}

/// Opens every connection that the pool asks for; gives what was sent where.
fn run(pool: &mut Pool, next_socket: &mut usize) -> Vec<(u32, usize)> {
    let mut sent = Vec::new();
    while let Some(step) = pool.next_step() {
        match step {
            Step::Open(origin) => {
                pool.opened(origin, ConnectionId(*next_socket));
                *next_socket += 1;
            }
            Step::Evict(connection) => panic!("{connection:?}"),
            Step::Send(fetch, connection) => sent.push((fetch.0, connection.0)),
        }
    }
    sent
}

#[test]
fn http1_opens_a_connection_a_waiting_request_up_to_six() {
    let (mut pool, id) = pool(Some(Protocol::Http1));
    let mut sockets = 0;
    for (count, expected) in [(1, 1), (2, 2), (10, 6)] {
        while pool.origins[0].waiting.len() < count {
            let fetch = FetchId(pool.origins[0].waiting.len() as u32);
            pool.wait(id, 3, fetch);
        }
        assert_eq!(run(&mut pool, &mut sockets), []);
        assert_eq!(sockets, expected);
    }
    // Each free connection takes the next request; none more is opened.
    pool.changed(id, ConnectionId(4), open(1));
    pool.changed(id, ConnectionId(2), open(1));
    assert_eq!(run(&mut pool, &mut sockets), [(0, 2), (1, 4)]);
    assert_eq!(sockets, 6);
    pool.closed(id, ConnectionId(4));
    run(&mut pool, &mut sockets);
    assert_eq!(sockets, 7);
}

#[test]
fn the_most_urgent_request_goes_first_then_the_oldest() {
    let (mut pool, id) = pool(Some(Protocol::Http1));
    let mut sockets = 0;
    for (fetch, urgency) in [(0, 3), (1, 3), (2, 0), (3, 1)] {
        pool.wait(id, urgency, FetchId(fetch));
    }
    run(&mut pool, &mut sockets);
    let mut order = Vec::new();
    for _ in 0..4 {
        pool.changed(id, ConnectionId(0), open(1));
        order.extend(run(&mut pool, &mut sockets).into_iter().map(|(fetch, _)| fetch));
    }
    assert_eq!(order, [2, 3, 0, 1]);
}

#[test]
fn http2_has_one_connection_and_a_successor_once_it_drains() {
    let (mut pool, id) = pool(Some(Protocol::Http2));
    let mut sockets = 0;
    for fetch in 0..10 {
        pool.wait(id, 3, FetchId(fetch));
    }
    run(&mut pool, &mut sockets);
    assert_eq!(sockets, 1);
    pool.changed(id, ConnectionId(0), open(4));
    assert_eq!(run(&mut pool, &mut sockets).len(), 4);
    assert_eq!(sockets, 1, "a full connection is waited for");
    pool.changed(id, ConnectionId(0), MemberState::Draining);
    run(&mut pool, &mut sockets);
    assert_eq!(sockets, 2);
}

#[test]
fn an_unknown_server_is_asked_once_before_more_connections_are_opened() {
    for (answer, expected) in [(Protocol::Http1, 6), (Protocol::Http2, 1)] {
        let (mut pool, id) = pool(None);
        let mut sockets = 0;
        for fetch in 0..10 {
            pool.wait(id, 3, FetchId(fetch));
        }
        run(&mut pool, &mut sockets);
        assert_eq!(sockets, 1);
        pool.learned(id, answer);
        run(&mut pool, &mut sockets);
        assert_eq!(sockets, expected, "{answer:?}");
    }
}

#[test]
fn the_limit_on_all_connections_holds_and_room_wakes_other_origins() {
    let mut pool = Pool::new(PoolLimits { per_origin: 6, total: 3 });
    let mut sockets = 0;
    let ids: Vec<OriginId> = (0..5)
        .map(|n| {
            let origin = Origin { scheme: Scheme::Http, host: format!("h{n}"), port: 80 };
            pool.enter(origin, Some(Protocol::Http1))
        })
        .collect();
    for (n, &id) in ids.iter().enumerate() {
        pool.wait(id, 3, FetchId(n as u32));
    }
    run(&mut pool, &mut sockets);
    assert_eq!(sockets, 3);
    pool.closed(ids[0], ConnectionId(0));
    pool.forget(ids[0], 3, FetchId(0));
    run(&mut pool, &mut sockets);
    assert_eq!(sockets, 4);
}

#[test]
fn an_idle_connection_makes_way_for_another_origin_at_the_limit() {
    let mut pool = Pool::new(PoolLimits { per_origin: 6, total: 1 });
    let mut origin = |n: u32| {
        let origin = Origin { scheme: Scheme::Http, host: format!("h{n}"), port: 80 };
        let id = pool.enter(origin, Some(Protocol::Http1));
        pool.wait(id, 3, FetchId(n));
        id
    };
    let (one, other) = (origin(0), origin(1));
    assert_eq!(pool.next_step(), Some(Step::Open(one)));
    pool.opened(one, ConnectionId(0));
    pool.changed(one, ConnectionId(0), open(1));
    assert_eq!(pool.next_step(), Some(Step::Send(FetchId(0), ConnectionId(0))));
    assert_eq!(pool.next_step(), None, "a busy connection stays");
    pool.changed(one, ConnectionId(0), open(1));
    assert_eq!(pool.next_step(), Some(Step::Evict(ConnectionId(0))));
    pool.closed(one, ConnectionId(0));
    assert_eq!(pool.next_step(), Some(Step::Open(other)));
}

#[test]
fn a_failed_connect_dooms_all_only_where_no_other_is_left() {
    let (mut pool, id) = pool(Some(Protocol::Http1));
    let mut sockets = 0;
    for fetch in 0..9 {
        pool.wait(id, 3, FetchId(fetch));
    }
    run(&mut pool, &mut sockets);
    assert_eq!(sockets, 6);
    assert_eq!(pool.failed(id, ConnectionId(0)), []);
    assert_eq!(run(&mut pool, &mut sockets), []);
    assert_eq!(sockets, 6, "no further attempt before another one has succeeded");
    pool.changed(id, ConnectionId(1), open(1));
    assert_eq!(run(&mut pool, &mut sockets), [(0, 1)]);
    assert_eq!(sockets, 7);
    for socket in 1..6 {
        assert_eq!(pool.failed(id, ConnectionId(socket)), []);
    }
    assert_eq!(pool.failed(id, ConnectionId(6)).len(), 8);
}
