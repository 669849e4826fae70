use super::*;
use crate::schema_file;
use unit::Instant;

const READY: &str = r#"{"event":"ready","name":"a","version":"1"}"#;
const PAGE: &str = r#"{"event":"page","fcp_ms":310.5,"cls":0.02}"#;
const DONE: &str = r#"{"event":"done","connections":1}"#;

fn fetch(id: u32) -> String {
    format!(r#"{{"event":"fetch","id":{id},"status":200,"started_ms":0,"ended_ms":1.5}}"#)
}

fn read(fetches: u32, lines: &[&str]) -> Result<Transcript, ContractViolation> {
    let mut reader = TranscriptReader::new(0..fetches);
    for line in lines {
        reader.read(Instant::ZERO, format!("{line}\n").as_bytes())?;
    }
    reader.finish(Instant::ZERO)
}

#[test]
fn a_subject_is_heard_line_by_line() {
    let transcript = read(2, &[READY, &fetch(1), PAGE, &fetch(0), "", DONE]).unwrap();
    assert_eq!(transcript.page.unwrap().line.fcp_ms, Some(310.5));
    assert_eq!(transcript.ready.unwrap().line.version.as_deref(), Some("1"));
    assert_eq!(transcript.fetches.iter().map(|fetch| fetch.line.id).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(transcript.done.unwrap().line.connections, Some(1));
}

#[test]
fn lines_may_come_in_any_pieces_and_the_last_one_without_its_newline() {
    let whole = format!("{READY}\n{}\n{DONE}", fetch(0));
    for cut in 0..whole.len() {
        let mut reader = TranscriptReader::new(0..1);
        let (one, two) = whole.as_bytes().split_at(cut);
        reader.read(Instant::ZERO, one).unwrap();
        reader.read(Instant::ZERO, two).unwrap();
        assert!(reader.finish(Instant::ZERO).unwrap().done.is_some(), "{cut}");
    }
}

#[test]
fn what_is_out_of_order_is_refused_with_what_was_expected() {
    for (lines, line, expected) in [
        (&[DONE][..], 1, "ready"),
        (&[READY, READY], 2, "fetch"),
        (&[READY, DONE], 2, "1 fetches have not been reported"),
        (&[READY, &fetch(0), &fetch(0)], 3, "reported before"),
        (&[READY, &fetch(7)], 2, "no fetch 7"),
        (&[READY, &fetch(0), DONE, DONE], 4, "nothing more"),
        (&[READY, PAGE, PAGE], 3, "reported before"),
        (&[PAGE], 1, "ready"),
        (&[READY, r#"{"event":"page","fcp_ms":-1}"#], 2, "`fcp_ms` is -1"),
        (&["hello"], 1, "ready"),
        (&[r#"{"event":"reday"}"#], 1, "unknown variant `reday`"),
    ] {
        let violation = read(1, lines).unwrap_err();
        assert_eq!(violation.line, line, "{violation}");
        assert!(violation.to_string().contains(expected), "{violation}");
    }
}

#[test]
fn a_fetch_that_cannot_be_is_refused() {
    for (fields, fault) in [
        (r#""status":200,"started_ms":5,"ended_ms":4"#, "after `ended_ms`"),
        (r#""status":200,"started_ms":-1,"ended_ms":4"#, "from 0"),
        (r#""status":200,"started_ms":2,"sent_ms":1,"ended_ms":4"#, "before `started_ms`"),
        (r#""status":99,"started_ms":0,"ended_ms":4"#, "no status"),
        (r#""started_ms":0,"ended_ms":4"#, "`status` or"),
        (r#""status":200,"error":"x","started_ms":0,"ended_ms":4"#, "one of"),
        (r#""status":200,"ended_ms":4"#, "started_ms"),
    ] {
        let line = format!(r#"{{"event":"fetch","id":0,{fields}}}"#);
        let violation = read(1, &[READY, &line]).unwrap_err();
        assert!(violation.to_string().contains(fault), "{violation}");
    }
}

#[test]
fn a_warm_up_takes_a_time_that_is_one() {
    let line = r#"{"event":"ready","warmup_ms":12.5}"#;
    assert_eq!(read(0, &[line, DONE]).unwrap().ready.unwrap().line.warmup_ms, Some(12.5));
    let violation = read(0, &[&line.replace("12.5", "-1"), DONE]).unwrap_err();
    assert!(violation.to_string().contains("`warmup_ms` is -1"), "{violation}");
}

#[test]
fn a_line_without_end_is_refused_before_it_fills_the_memory() {
    let mut reader = TranscriptReader::new(0..1);
    let flood = vec![b'x'; 1 << 20];
    let violation = reader.read(Instant::ZERO, &flood).unwrap_err();
    assert!(violation.to_string().contains("longer than 65536 bytes"), "{violation}");
    assert!(violation.said.len() < 200);
}

#[test]
fn a_subject_may_say_that_it_cannot() {
    let line = r#"{"event":"unsupported","reason":"no h3 in this build","remedy":"another build"}"#;
    let transcript = read(1, &[line]).unwrap();
    assert_eq!(transcript.unsupported.unwrap().reason, "no h3 in this build");
}

#[test]
fn fields_of_later_versions_are_passed_over() {
    let line = r#"{"event":"ready","name":"a","colour":"blue"}"#;
    assert!(read(0, &[line, DONE]).is_ok());
}

#[test]
fn the_jobs_and_lines_of_the_documentation_are_what_it_says() {
    let text = include_str!("../../../../docs/subjects.md");
    let blocks = text.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let [job, lines] = blocks.collect::<Vec<_>>().try_into().unwrap();
    let job: Job = serde_json::from_str(job).unwrap();
    assert_eq!((job.contract, job.fetches.len()), (CONTRACT, 1));
    read(2, &lines.lines().collect::<Vec<_>>()).unwrap();
}

#[test]
fn the_schemas_are_published() {
    schema_file::check("subject-job.schema.json", &job_schema());
    schema_file::check("subject-line.schema.json", &line_schema());
}
