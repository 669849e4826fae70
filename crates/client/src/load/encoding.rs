//! A tally as bytes, so that agents on other machines can hand theirs in. Whole numbers are little-endian, histograms are
//! those of HdrHistogram (version 2). The one rule: bytes come from elsewhere, and are bounded and checked before anything
//! is made of them.

use super::tally::{DIGITS, Fault, Faults, LONGEST, Part, STATUSES, Tally, Times};
use super::trend::{PIECES, Trend};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use std::time::Duration;
use trace::Protocol;
use unit::Instant;

/// Bytes that are no tally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadTally;

/// Bytes that are read one field after another.
#[derive(Debug)]
pub struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    /// All of `bytes`.
    pub fn of(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    /// Whether none are left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A whole number.
    pub fn whole(&mut self) -> Result<u64, BadTally> {
        let (field, rest) = self.0.split_first_chunk().ok_or(BadTally)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*field))
    }

    /// A time.
    pub fn time(&mut self) -> Result<Duration, BadTally> {
        self.whole().map(Duration::from_nanos)
    }

    fn count(&mut self, most: usize) -> Result<usize, BadTally> {
        usize::try_from(self.whole()?).ok().filter(|count| *count <= most).ok_or(BadTally)
    }

    fn bytes(&mut self) -> Result<&'b [u8], BadTally> {
        let length = self.count(self.0.len())?;
        let (field, rest) = self.0.split_at_checked(length).ok_or(BadTally)?;
        self.0 = rest;
        Ok(field)
    }
}

/// Writes a whole number.
pub fn put_whole(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

/// Writes a time.
pub fn put_time(out: &mut Vec<u8>, time: Duration) {
    put_whole(out, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
}

/// Number of the format that [`Tally::put`] writes. Raise it when that changes, or what agents hand in around it: two
/// builds of one version would read each other's counts wrongly.
pub const TALLY_FORMAT: u64 = 2;

/// Stages and targets of a plan at most.
const MOST_PARTS: usize = 100_000;

impl Times {
    fn put(&self, out: &mut Vec<u8>) {
        let mut bytes = Vec::new();
        // It cannot fail: a vector takes all, and the counts of a run fit.
        let written = V2Serializer::new().serialize(self.histogram(), &mut bytes);
        debug_assert!(written.is_ok(), "a histogram is written");
        put_whole(out, bytes.len() as u64);
        out.extend(bytes);
    }

    fn take(fields: &mut Fields<'_>) -> Result<Self, BadTally> {
        let mut bytes = fields.bytes()?;
        // Cookie, length and offset, 4 bytes each, then digits and bounds: what is made is as large as these say.
        let bounds = bytes.get(12..32).ok_or(BadTally)?;
        let mut ours = u32::from(DIGITS).to_be_bytes().to_vec();
        ours.extend(1_u64.to_be_bytes());
        ours.extend(LONGEST.to_be_bytes());
        if bounds != ours {
            return Err(BadTally);
        }
        let read: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes).map_err(|_| BadTally)?;
        let mut times = Self::new();
        times.merge(&read).map_err(|()| BadTally)?;
        Ok(times)
    }
}

impl Part {
    /// Writes it.
    pub fn put(&self, out: &mut Vec<u8>) {
        for number in [self.answers, self.refused, self.not_begun, self.body] {
            put_whole(out, number);
        }
        put_faults(out, &self.faults);
        self.latency.put(out);
    }

    /// Reads what [`Part::put`] wrote.
    pub fn take(fields: &mut Fields<'_>) -> Result<Self, BadTally> {
        let [answers, refused, not_begun, body] = wholes(fields)?;
        let faults = take_faults(fields)?;
        Ok(Self { answers, refused, faults, not_begun, body, latency: Times::take(fields)? })
    }
}

impl Tally {
    /// Writes it. Of its clock it writes how long it counted, because no other machine has that clock.
    pub fn put(&self, out: &mut Vec<u8>) {
        self.warm_up.put(out);
        for parts in [&self.stages, &self.targets] {
            put_whole(out, parts.len() as u64);
            parts.iter().for_each(|part| part.put(out));
        }
        let connects = &self.connects;
        let times = [
            &self.first_byte,
            &self.lateness,
            &self.latency_since_seen,
            &self.latency_floor,
            &connects.tcp,
            &connects.tls,
            &connects.quic,
        ];
        times.into_iter().for_each(|times| times.put(out));
        self.trend.numbers().for_each(|number| put_whole(out, number));
        let statuses: Vec<(u16, u64)> = self.statuses().collect();
        put_whole(out, statuses.len() as u64);
        for (code, count) in statuses {
            put_whole(out, code.into());
            put_whole(out, count);
        }
        put_faults(out, &connects.faults);
        put_whole(out, self.unreached.len() as u64);
        self.unreached.iter().for_each(|faults| put_faults(out, faults));
        for fault in Fault::ALL {
            put_text(out, self.causes.get(&fault).map_or("", String::as_str));
        }
        let counts = [
            connects.opened,
            connects.resumed,
            connects.early_accepted,
            connects.early_rejected,
            self.received,
            self.sent,
            self.again,
            self.unfinished,
            self.in_time,
            self.most_streams,
            connects.most_open,
        ];
        counts.into_iter().for_each(|count| put_whole(out, count));
        put_text(out, self.protocol.map_or("", Protocol::name));
        let counted = self.began.zip(self.ended).map(|(began, ended)| ended.since(began));
        put_whole(out, u64::from(counted.is_some()));
        put_time(out, counted.unwrap_or_default());
    }

    /// Reads what [`Tally::put`] wrote; it began to count at `began` of this machine's clock.
    pub fn take(fields: &mut Fields<'_>, began: Instant) -> Result<Self, BadTally> {
        let mut tally = Self::new(0, 0);
        tally.warm_up = Part::take(fields)?;
        tally.stages = parts(fields)?;
        tally.targets = parts(fields)?;
        for times in [
            &mut tally.first_byte,
            &mut tally.lateness,
            &mut tally.latency_since_seen,
            &mut tally.latency_floor,
            &mut tally.connects.tcp,
            &mut tally.connects.tls,
            &mut tally.connects.quic,
        ] {
            *times = Times::take(fields)?;
        }
        let length = fields.whole()?;
        let mut pieces = [[0; 6]; PIECES];
        for piece in &mut pieces {
            *piece = wholes(fields)?;
        }
        tally.trend = Trend::of(length, pieces).ok_or(BadTally)?;
        for _ in 0..fields.count(STATUSES)? {
            let [code, count] = wholes(fields)?;
            tally.set_status(code, count).ok_or(BadTally)?;
        }
        tally.connects.faults = take_faults(fields)?;
        tally.unreached = (0..fields.count(MOST_PARTS)?)
            .map(|_| take_faults(fields))
            .collect::<Result<_, _>>()?;
        for fault in Fault::ALL {
            let said = std::str::from_utf8(fields.bytes()?).map_err(|_| BadTally)?;
            if !said.is_empty() {
                tally.causes.insert(fault, said.to_owned());
            }
        }
        let [opened, resumed, early_accepted, early_rejected] = wholes(fields)?;
        tally.connects.opened = opened;
        tally.connects.resumed = resumed;
        tally.connects.early_accepted = early_accepted;
        tally.connects.early_rejected = early_rejected;
        [tally.received, tally.sent, tally.again, tally.unfinished] = wholes(fields)?;
        [tally.in_time, tally.most_streams, tally.connects.most_open] = wholes(fields)?;
        tally.protocol = match fields.bytes()? {
            b"" => None,
            name => {
                let spoken = Protocol::ALL.into_iter().find(|one| one.name().as_bytes() == name);
                Some(spoken.ok_or(BadTally)?)
            }
        };
        let [is_counted] = wholes(fields)?;
        let counted = fields.time()?;
        if is_counted == 1 {
            (tally.began, tally.ended) = (Some(began), Some(began + counted));
        }
        Ok(tally)
    }
}

fn parts(fields: &mut Fields<'_>) -> Result<Vec<Part>, BadTally> {
    (0..fields.count(MOST_PARTS)?).map(|_| Part::take(fields)).collect()
}

fn wholes<const N: usize>(fields: &mut Fields<'_>) -> Result<[u64; N], BadTally> {
    let mut wholes = [0; N];
    for whole in &mut wholes {
        *whole = fields.whole()?;
    }
    Ok(wholes)
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_whole(out, text.len() as u64);
    out.extend(text.as_bytes());
}

fn put_faults(out: &mut Vec<u8>, faults: &Faults) {
    Fault::ALL.into_iter().for_each(|fault| put_whole(out, faults.of(fault)));
}

fn take_faults(fields: &mut Fields<'_>) -> Result<Faults, BadTally> {
    wholes(fields).map(Faults::from_counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally() -> Tally {
        let mut tally = Tally::new(2, 3);
        for (nth, part) in tally.stages.iter_mut().enumerate() {
            part.answers = 10 + nth as u64;
            part.body = 1 << 40;
            (1..=1_000).for_each(|micros| part.latency.record(Duration::from_micros(micros * 7)));
        }
        tally.connects.faults.count(Fault::Tls);
        tally.unreached[2].count(Fault::Tls);
        tally.causes.insert(Fault::Tls, "it has no certificate".to_owned());
        tally.most_streams = 100;
        tally.connects.opened = 7;
        tally.connects.most_open = 5;
        tally.connects.tls.record(Duration::from_secs(4_000));
        tally.set_status(404, 3).unwrap();
        tally.protocol = Some(Protocol::Http2);
        tally.in_time = 21;
        tally.trend.record(Duration::from_secs(1), Duration::from_millis(3));
        (tally.began, tally.ended) =
            (Some(Instant::ZERO), Some(Instant::ZERO + Duration::from_secs(2)));
        tally
    }

    fn bytes(tally: &Tally) -> Vec<u8> {
        let mut out = Vec::new();
        tally.put(&mut out);
        out
    }

    #[test]
    fn a_tally_survives_its_bytes_and_counts_by_the_other_clock() {
        let tally = tally();
        let written = bytes(&tally);
        let began = Instant::ZERO + Duration::from_secs(100);
        let mut fields = Fields::of(&written);
        let read = Tally::take(&mut fields, began).unwrap();
        assert!(fields.is_empty());
        assert_eq!(bytes(&read), written);
        assert_eq!(read.ended.unwrap().since(began), Duration::from_secs(2));
        assert_eq!(read.stages[1].latency.histogram(), tally.stages[1].latency.histogram());
    }

    #[test]
    fn percentiles_of_added_tallies_are_those_of_all_their_times() {
        let mut whole = tally();
        let mut other = Tally::new(2, 3);
        (1..=9).for_each(|_| other.stages[0].latency.record(Duration::from_secs(1)));
        let written = bytes(&other);
        whole.add(&Tally::take(&mut Fields::of(&written), Instant::ZERO).unwrap());
        let times = whole.stages[0].latency.histogram();
        assert_eq!(times.len(), 1_009);
        assert!(times.value_at_quantile(0.9999) > 999_000_000);
        assert!(times.value_at_quantile(0.5) < 4_000_000);
    }

    #[test]
    fn bytes_that_are_cut_or_changed_are_refused_or_read_and_never_more_than_that() {
        let written = bytes(&tally());
        let some = || (0..written.len()).step_by(written.len() / 25);
        for end in some() {
            assert!(Tally::take(&mut Fields::of(&written[..end]), Instant::ZERO).is_err(), "{end}");
        }
        for place in some() {
            let mut changed = written.clone();
            changed[place] ^= 0xff;
            let _read = Tally::take(&mut Fields::of(&changed), Instant::ZERO);
        }
    }
}
