//! What tests of other people's servers need beside `testing::peers`: a certificate, and the server under way.

use crate::bench::{Bench, Running};
use std::time::Duration;

/// A server under way, which listens.
pub(crate) fn started(bench: &Bench, (program, args): (&str, &[&str]), port: u16) -> Running {
    let mut command = bench.command(program);
    command.args(args);
    let running = bench.start(command);
    for _ in 0..500 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return running;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{program} does not listen: {:?}", running.end());
}

/// The nginx at `program` under way with these lines in its `http`, once it listens on `port`. All that it writes is in the
/// bench's folder.
pub(crate) fn nginx(bench: &Bench, program: &str, http: &str, port: u16) -> Running {
    let folder = bench.folder.display();
    bench.write(
        "nginx.conf",
        format!(
            "daemon off; master_process off; pid {folder}/pid; error_log {folder}/error; events {{}}
            http {{ client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
              uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e; {http} }}"
        ),
    );
    let config = bench.path("nginx.conf").display().to_string();
    started(bench, (program, &["-e", "/dev/null", "-c", &config]), port)
}

/// Makes `cert.pem` and `key.pem` for localhost. False, and a skip, without openssl.
pub(crate) fn certify(bench: &Bench) -> bool {
    self_signed(bench, "localhost", "-addext basicConstraints=critical,CA:FALSE")
}

/// Makes `cert.pem` and `key.pem` for `name`, signed by itself, with `more` flags of openssl's. False, and a skip,
/// without openssl.
pub(crate) fn self_signed(bench: &Bench, name: &str, more: &str) -> bool {
    let made = bench.shell(&[], &format!(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem \
         -out cert.pem -subj /CN={name} -days 2 -addext subjectAltName=DNS:{name},IP:127.0.0.1 {more}"
    ));
    if made.code != 0 {
        testing::skip("openssl makes no certificate: ./peers install");
    }
    made.code == 0
}
