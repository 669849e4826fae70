//! The vectors in `vectors/h1`: what is refused, with which status, however its bytes are cut.

use super::*;
use crate::ServerConnection;

const VECTORS: &str = include_str!("../../../../../vectors/h1/requests.txt");

#[test]
fn every_vector_gets_its_verdict_however_it_is_cut() {
    let mut cases = 0;
    for line in VECTORS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let [verdict, name, bytes] = line.splitn(3, " | ").collect::<Vec<_>>()[..] else {
            panic!("not a case: {line}");
        };
        let bytes = unescape(bytes);
        assert_eq!(judge(&[&bytes]), verdict, "{name}");
        assert_eq!(judge(&bytes.chunks(1).collect::<Vec<_>>()), verdict, "{name}, byte by byte");
        cases += 1;
    }
    assert!(cases > 90, "the vectors are read: {cases}");
}

/// The status of the refusal, or how many requests were taken whole.
fn judge(pieces: &[&[u8]]) -> String {
    let mut server = server(ServerSettings::default());
    let (mut whole, mut said) = (0, String::new());
    for piece in pieces {
        for told in hear(&mut server, &[piece]) {
            let stream = match told {
                Told::Request(stream, _, Fin::Last)
                | Told::Data(stream, _, Fin::Last)
                | Told::Trailers(stream, _) => stream,
                _ => continue,
            };
            whole += 1;
            server.respond(StreamId(stream), &ok(), Fin::Last).unwrap();
        }
        said.push_str(&say(&mut server));
    }
    let refusals = said.split("HTTP/1.1 ").skip(1).filter(|answer| !answer.starts_with("200 "));
    match refusals.last() {
        Some(answer) => {
            assert!(answer.contains("connection: close"), "{answer}");
            answer[..3].to_owned()
        }
        None => format!("take {whole}"),
    }
}

fn unescape(text: &str) -> Vec<u8> {
    let text = match text.strip_prefix('H') {
        Some(rest) => format!("POST / HTTP/1.1\\r\\nHost: h\\r\\n{rest}"),
        None => text.to_owned(),
    };
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next().unwrap() {
                b'r' => b'\r',
                b'n' => b'\n',
                b't' => b'\t',
                b'0' => 0,
                b'\\' => b'\\',
                b'x' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                other => panic!("no such escape: {}", other as char),
            },
            other => other,
        });
    }
    bytes
}
