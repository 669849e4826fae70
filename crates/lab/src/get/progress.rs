//! The progress of downloads: bytes, rate and time left, on standard error if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// One line for all files together.
#[derive(Debug)]
pub(crate) struct Meter {
    bar: Option<ProgressBar>,
    files: usize,
    done: usize,
    /// Bytes expected of the files whose length is known.
    total: u64,
}

impl Meter {
    /// For so many files.
    pub(crate) fn new(files: usize) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let template =
            "{msg} {decimal_bytes}/{decimal_total_bytes} {bar:24} {decimal_bytes_per_sec} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸ "));
        }
        let meter = Self { bar: Some(bar), files, done: 0, total: 0 };
        meter.tell();
        meter
    }

    /// For nobody to see.
    pub(crate) fn hidden() -> Self {
        Self { bar: None, files: 0, done: 0, total: 0 }
    }

    /// A file begins: its length if known, and how much of it is already there.
    pub(crate) fn begin(&mut self, length: Option<u64>, kept: u64) {
        let Some(bar) = &self.bar else { return };
        self.total += length.unwrap_or(0);
        bar.set_length(self.total);
        bar.inc(kept);
        // The rate is that of new bytes.
        bar.reset_eta();
    }

    /// Bytes came.
    pub(crate) fn received(&self, bytes: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(bytes);
        }
    }

    /// A file is over.
    pub(crate) fn done(&mut self) {
        self.done += 1;
        self.tell();
    }

    /// A line above the bar. What a server sent in it is made safe to print.
    pub(crate) fn say(&self, line: &str) {
        let line = unit::escape(line);
        match &self.bar {
            Some(bar) => bar.suspend(|| crate::console::note(&line)),
            None => crate::console::note(&line),
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn tell(&self) {
        if let Some(bar) = &self.bar
            && self.files > 1
        {
            bar.set_message(format!("{}/{} files", self.done, self.files));
        }
    }
}
