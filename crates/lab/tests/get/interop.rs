//! The cases of `bench/interop` that matter most, between our build and each program of others: whole files, a hundred at once,
//! Retry, 0-RTT, a lost datagram in twenty, a client that goes away, WebSockets, qlogs. docs/http3.md has the whole table.

use crate::bench::Bench;

const CASES: &str = "transfer,http3,retry,zerortt,transferloss,leaves,websocket,qlogs";

/// No case fails; what a side cannot do is no failure.
fn holds(pair: &str) {
    let bench = Bench::new();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/interop");
    let mut command = bench.command(program);
    command.args(["--cases", CASES, "--pairs", pair, "--wirelap"]).arg(crate::bench::wirelap());
    let ran = bench.start(command).end();
    match ran.code {
        3 => testing::skip(format_args!("{pair}: {}", ran.out)),
        _ => assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err),
    }
}

#[test]
fn our_server_serves_curl() {
    holds("curl/wirelap");
}

#[test]
fn our_server_serves_aioquic() {
    holds("aioquic/wirelap");
}

#[test]
fn our_server_serves_quic_go() {
    holds("quic-go/wirelap");
}

#[test]
fn our_client_gets_from_nginx() {
    holds("wirelap/nginx");
}

#[test]
fn our_client_gets_from_caddy() {
    holds("wirelap/Caddy");
}

#[test]
fn our_client_gets_from_haproxy() {
    holds("wirelap/HAProxy");
}

#[test]
fn our_client_gets_from_aioquic() {
    holds("wirelap/aioquic");
}

#[test]
fn our_client_gets_from_quic_go() {
    holds("wirelap/quic-go");
}
