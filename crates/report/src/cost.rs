//! The cost of a client subject besides time: start-up, processor time, memory, and a managed runtime's garbage
//! collections. The figures are the medians of a cell's measured trials. Rows of our own client have none.

use crate::number;
use study::metric;
use study::result::CellResult;
use study::stats::Summary;

/// The cost of a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost<'a> {
    cell: &'a CellResult,
}

impl<'a> Cost<'a> {
    /// None where the cell's rows hold no cost.
    pub(crate) fn of(cell: &'a CellResult) -> Option<Self> {
        cell.metrics.contains_key(metric::WALL_MS).then_some(Self { cell })
    }

    /// `start-up 455 ms, CPU 893 ms, 3.41 CPU s per GiB, peak memory 41.2 MB, peak heap 12.0 MB, 1 garbage collection`
    pub(crate) fn in_short(self) -> String {
        let mut parts: Vec<String> = Vec::new();
        let duration =
            |name, summary: &Summary| format!("{name} {}", number::duration(summary.median));
        parts.extend(self.startup().map(|summary| duration("start-up", summary)));
        parts.extend(self.cpu().map(|summary| duration("CPU", summary)));
        parts.extend(
            self.cpu_a_gib().map(|summary| format!("{} CPU s per GiB", seconds(summary.median))),
        );
        parts.extend(self.memory().map(|summary| format!("peak memory {}", size(summary.median))));
        parts.extend(self.heap().map(|summary| format!("peak heap {}", size(summary.median))));
        parts.extend(self.collections().map(|summary| match summary.median {
            1.0 => "1 garbage collection".to_owned(),
            count => format!("{count} garbage collections"),
        }));
        parts.join(", ")
    }

    /// The figures of a row without wall time: start-up, processor time, processor time a GiB with its interval,
    /// memory, heap, collections.
    pub(crate) fn columns(self) -> [String; 7] {
        let told = |summary: Option<&Summary>, text: &dyn Fn(&Summary) -> String| {
            summary.map_or_else(String::new, text)
        };
        [
            told(self.startup(), &|startup| number::duration(startup.median)),
            told(self.cpu(), &|cpu| number::duration(cpu.median)),
            told(self.cpu_a_gib(), &|cpu| seconds(cpu.median)),
            told(self.cpu_a_gib(), &|cpu| {
                cpu.ci95.map_or_else(String::new, |ci95| ci95.map(seconds).join(" to "))
            }),
            told(self.memory(), &|memory| size(memory.median)),
            told(self.heap(), &|heap| size(heap.median)),
            told(self.collections(), &|count| count.median.to_string()),
        ]
    }

    fn startup(self) -> Option<&'a Summary> {
        self.cell.metrics.get(metric::STARTUP_MS)
    }

    fn cpu(self) -> Option<&'a Summary> {
        self.cell.metrics.get(metric::CLIENT_CPU_MS)
    }

    /// Of downloads alone.
    fn cpu_a_gib(self) -> Option<&'a Summary> {
        self.cell.metrics.get(metric::CPU_PER_GIB)
    }

    fn memory(self) -> Option<&'a Summary> {
        self.cell.metrics.get(metric::PEAK_MEMORY)
    }

    fn heap(self) -> Option<&'a Summary> {
        // A client without a managed heap reports none, or an empty one.
        self.cell.metrics.get(metric::HEAP_PEAK).filter(|heap| heap.median > 0.0)
    }

    fn collections(self) -> Option<&'a Summary> {
        self.heap().and_then(|_| self.cell.metrics.get(metric::GC_COUNT))
    }
}

/// Three digits, but no more decimals than a clock with milliseconds has.
fn seconds(seconds: f64) -> String {
    digits(seconds, 3)
}

fn size(bytes: f64) -> String {
    format!("{}\u{a0}MB", digits(bytes / 1e6, 1))
}

fn digits(value: f64, most: usize) -> String {
    let decimals = match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.0$}", decimals.min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        assert_eq!([0.4567, 4.567, 45.67, 456.7].map(seconds), ["0.457", "4.57", "45.7", "457"]);
        assert_eq!([4_567_000.0, 456_700_000.0].map(size), ["4.6\u{a0}MB", "457\u{a0}MB"]);
    }
}
