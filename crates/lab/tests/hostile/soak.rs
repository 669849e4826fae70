//! The short form of `bench/soak`: everything at once, for some seconds. Whether memory stays flat for minutes is the
//! long form's to say.

use crate::bench::{Bench, wirelap};
use std::path::Path;

#[test]
fn a_short_soak_ends_with_level_memory_and_descriptors() {
    // A server that shares its core with other tests falls behind those that come and go, and has more descriptors than it keeps.
    let bench = Bench::alone();
    if bench.shell(&[], "python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))'").code != 0 {
        return testing::skip("python3 of 3.9 or later is not installed");
    }
    let soak = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/soak");
    let mut command = bench.command("python3");
    command.arg(soak).args(["--seconds", "10", "--wirelap"]).arg(wirelap());
    let ran = bench.start(command).end();
    assert_eq!(ran.code, 0, "{ran:?}");
    for name in ["wirelap serve", "wirelap load"] {
        assert!(ran.out.contains(name), "{ran:?}");
    }
}
