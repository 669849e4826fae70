//! The download as a workload of the client: requests out, responses in.

use super::answer::{self, Question};
use super::file::{Part, PartState};
use super::{Download, FileId, Note, Refusal, Sink};
use crate::connection::LONGEST_REST;
use crate::failure::Hope;
use crate::fetch::{FetchId, FetchSpec};
use crate::work::Work;
use proto::ResponseHead;
use trace::{ConnectionRecord, FetchRecord};
use unit::Instant;

impl<S: Sink> Work for Download<S> {
    fn poll_fetch(&mut self, now: Instant, id: FetchId) -> Option<FetchSpec> {
        let (index, range) = loop {
            if let Some(next) = self.next_part(now) {
                break next;
            }
            if !self.begin_next(now) {
                return None;
            }
        };
        let file = &mut self.files[index];
        file.rest_until = None;
        let spec = file.request(range.as_ref());
        self.parts.insert(id, Part::new(index, range, file.tries.failures()));
        Some(spec)
    }

    fn poll_cancel(&mut self) -> Option<FetchId> {
        self.cancels.pop_front()
    }

    fn handle_head(&mut self, now: Instant, id: FetchId, head: &ResponseHead) {
        let Some(part) = self.parts.get(&id) else { return };
        if part.state != PartState::Awaiting {
            return;
        }
        let index = part.file;
        let file = &mut self.files[index];
        file.report.status = Some(head.status.code());
        file.report.answered.get_or_insert(now);
        let question = Question {
            range: part.asked.as_ref(),
            condition: part.asked.as_ref().and_then(|_| file.condition()),
            known: file.version.as_ref(),
            joins: file.joins,
            slice: file.slice.as_ref(),
            received: self.settings.epoch.map(|epoch| epoch + now.since(Instant::ZERO)),
        };
        let answer = answer::judge(head, &question);
        self.sink.head(FileId(index), head);
        if let Some(coding) = answer::coding(head) {
            self.sink.note(FileId(index), &Note::Coded(coding));
        }
        self.answered(now, id, answer);
    }

    fn handle_body(&mut self, now: Instant, id: FetchId, bytes: &[u8]) {
        let Some(part) = self.parts.get_mut(&id) else { return };
        let index = part.file;
        match &part.state {
            PartState::Body => {}
            PartState::Over(_) => {
                part.dropped += bytes.len() as u64;
                if part.dropped > LONGEST_REST {
                    self.cancels.push_back(id);
                }
                return;
            }
            PartState::Awaiting | PartState::Cancelled => return,
        }
        let from = part.at;
        part.at += bytes.len() as u64;
        let file = &mut self.files[index];
        file.report.received += bytes.len() as u64;
        if part.end.is_some_and(|end| part.at > end) {
            return self.fail(now, index, "the body is longer than its head said".to_owned());
        }
        match self.sink.write(FileId(index), from, bytes) {
            Ok(()) => file.kept.insert(from..part.at),
            Err(Refusal(why)) => self.fail(now, index, why),
        }
    }

    fn poll_buffer(&mut self, id: FetchId, at_most: u64) -> Option<&mut [u8]> {
        let part = self.parts.get(&id).filter(|part| part.state == PartState::Body)?;
        let left = part.end.map_or(at_most, |end| at_most.min(end - part.at));
        self.sink.receive_buffer(FileId(part.file), part.at, left)
    }

    fn handle_filled(&mut self, now: Instant, id: FetchId, bytes: usize) {
        let Some(part) = self.parts.get_mut(&id) else { return };
        let (index, from) = (part.file, part.at);
        part.at += bytes as u64;
        let file = &mut self.files[index];
        file.report.received += bytes as u64;
        match self.sink.filled(FileId(index), from, bytes) {
            Ok(()) => file.kept.insert(from..part.at),
            Err(Refusal(why)) => self.fail(now, index, why),
        }
    }

    fn handle_failure(&mut self, _now: Instant, id: FetchId, hope: Hope) {
        self.hopes.insert(id, hope);
    }

    fn handle_end(&mut self, now: Instant, id: FetchId, record: FetchRecord) {
        let hope = self.hopes.remove(&id).unwrap_or(Hope::Lasting);
        let Some(part) = self.parts.remove(&id) else { return };
        let report = &mut self.files[part.file].report;
        report.connections.extend(record.connection);
        report.url.clone_from(&record.url);
        if !record.protocol.is_none() {
            report.protocol.clone_from(&record.protocol);
        }
        self.ended(now, part, &record, hope);
    }

    fn handle_connection_end(&mut self, record: ConnectionRecord) {
        self.connections.push(record);
    }

    fn handle_timeout(&mut self, now: Instant) {
        let due = |index: &usize| self.deadline(*index).is_some_and(|at| at <= now);
        for index in self.active.iter().copied().filter(due).collect::<Vec<_>>() {
            let limit = unit::format_duration(self.settings.max_time.unwrap_or_default());
            self.fail(now, index, format!("the file was not there within {limit}"));
        }
        // A rest that is over is waited for no more, though the next request may wait for one that is under way.
        for &index in &self.active {
            self.files[index].rest_until.take_if(|until| *until <= now);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let rests = self.active.iter().filter_map(|&index| self.files[index].rest_until);
        let ends = self.active.iter().filter_map(|&index| self.deadline(index));
        rests.chain(ends).min()
    }

    fn is_finished(&self) -> bool {
        self.waiting.is_empty() && self.active.is_empty()
    }
}
