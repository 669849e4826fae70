//! What tests of other people's servers need: a program of the system, a port, a certificate, and the server under way.

use crate::bench::{Bench, Running};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Where a program of the system is. None, and a skip, where it is not.
pub(crate) fn program(name: &str) -> Option<String> {
    let folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
    let found = folders.iter().map(|folder| format!("{folder}/{name}"));
    let found = found.into_iter().find(|path| Path::new(path).exists());
    if found.is_none() {
        testing::skip(format_args!("{name} is not installed: ./peers install"));
    }
    found
}

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

/// A current release, which has HTTP/3 where Debian 12's has not.
pub(crate) fn current(program: &str) -> Option<String> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers");
    let output = Command::new(peers).arg("current").output().unwrap();
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).join(program);
    if path.exists() {
        return Some(path.display().to_string());
    }
    testing::skip(format!("a current {program} is not installed: ./peers install"));
    None
}
