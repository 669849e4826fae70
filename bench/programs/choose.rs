//! How the programs whose instructions are counted are told what to do: `PROGRAM NAME TURNS` goes a path so often and
//! says nothing; without arguments the paths are named. Benches take this file in by its path.

/// A name, and what a turn does so many times.
pub(crate) type Path = (&'static str, fn(usize));

/// Does what the command line asks for.
pub(crate) fn run(paths: &[Path]) {
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    match &asked[..] {
        [name, turns] => {
            let path = paths.iter().find(|(known, _)| known == name).expect("a path's name");
            path.1(turns.parse().expect("a number of turns"));
        }
        _ => paths.iter().for_each(|(name, _)| println!("{name}")),
    }
}
