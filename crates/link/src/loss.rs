//! Random loss, packet by packet. The one rule: what packet n meets depends on n and the seed alone, never on rates.
//!
//! Bursts follow the two-state chain of E. N. Gilbert, "Capacity of a Burst-Noise Channel" (BSTJ 39, 1960), and E. O.
//! Elliott, "Estimates of Error Rates for Codes on Burst-Noise Channels" (BSTJ 42, 1963), with the parameters' names of
//! Haßlinger and Hohlfeld, "The Gilbert-Elliott Model for Packet Loss in Real Time Services on the Internet" (MMB 2008).

use unit::{Probability, Seed};

/// How packets are lost behind the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// Each packet by itself.
    Independent(Probability),
    /// In bursts.
    Bursts(Bursts),
    /// By a chain of a good and a bad state.
    GilbertElliott(GilbertElliott),
}

/// Loss in bursts: every packet of a burst is lost, and none between bursts (Gilbert's chain).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bursts {
    mean: Probability,
    length: f64,
}

/// The parameters of the chain. Its first state is bad with the chance p / (p + r), as in a long run. It takes one step for
/// each packet, before that packet's loss is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// p: from the good state to the bad one.
    pub to_bad: Probability,
    /// r: from the bad state to the good one.
    pub to_good: Probability,
    /// 1 - h: loss in the bad state.
    pub bad: Probability,
    /// 1 - k: loss in the good state.
    pub good: Probability,
}

impl Default for Loss {
    fn default() -> Self {
        Self::NONE
    }
}

impl Loss {
    /// No packet is lost.
    pub const NONE: Self = Self::Independent(Probability::ZERO);

    /// The share of packets lost in a long run.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Independent(share) => share.fraction(),
            Self::Bursts(bursts) => bursts.mean.fraction(),
            Self::GilbertElliott(chain) => {
                let bad = chain.bad_share();
                bad * chain.bad.fraction() + (1.0 - bad) * chain.good.fraction()
            }
        }
    }
}

impl Bursts {
    /// Loses `mean` of all packets in bursts of `length` packets on average; None where there is no such chain: a burst is
    /// shorter than one packet, or so much is lost that bursts of this length would run into each other.
    pub fn new(mean: Probability, length: f64) -> Option<Self> {
        let bursts = Self { mean, length };
        let fits = length.is_finite() && length >= 1.0 && mean.fraction() < 1.0;
        (fits && bursts.to_bad() <= 1.0).then_some(bursts)
    }

    /// The share of packets lost.
    pub fn mean(&self) -> Probability {
        self.mean
    }

    /// Packets in a burst, on average.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// A burst ends after each packet with r = 1 / length, and mean = p / (p + r).
    fn to_bad(self) -> f64 {
        self.mean.fraction() / (1.0 - self.mean.fraction()) / self.length
    }
}

impl GilbertElliott {
    /// The share of packets that meet the bad state in a long run; none where the chain leaves neither state.
    fn bad_share(&self) -> f64 {
        let (p, r) = (self.to_bad.fraction(), self.to_good.fraction());
        if p + r == 0.0 { 0.0 } else { p / (p + r) }
    }
}

impl From<Bursts> for GilbertElliott {
    fn from(bursts: Bursts) -> Self {
        let chance = |share: f64| Probability::new(share).unwrap_or(Probability::ZERO);
        Self {
            to_bad: chance(bursts.to_bad()),
            to_good: chance(1.0 / bursts.length),
            bad: chance(1.0),
            good: Probability::ZERO,
        }
    }
}

/// Decides which packets are lost.
#[derive(Debug, Clone)]
pub(crate) struct Losses {
    draws: Seed,
    chain: Option<Chain>,
    /// The loss in the present state.
    share: f64,
}

#[derive(Debug, Clone)]
struct Chain {
    spec: GilbertElliott,
    steps: Seed,
    is_bad: bool,
}

impl Chain {
    /// The first state is drawn as often bad as the chain is in a long run. A chain that always began in the good state
    /// would spare handshakes: each trial has a link of its own.
    fn new(spec: GilbertElliott, seed: Seed) -> Self {
        let is_bad = seed.child("first state").fraction(0) < spec.bad_share();
        Self { spec, steps: seed.child("burst"), is_bad }
    }
}

impl Losses {
    pub(crate) fn new(loss: Loss, seed: Seed) -> Self {
        let chain = |spec| Chain::new(spec, seed);
        let (share, chain) = match loss {
            Loss::Independent(share) => (share.fraction(), None),
            Loss::Bursts(bursts) => (0.0, Some(chain(bursts.into()))),
            Loss::GilbertElliott(spec) => (0.0, Some(chain(spec))),
        };
        Self { draws: seed.child("loss"), chain, share }
    }

    /// Whether packet `index` is lost. Every packet is asked about once, in order: the chain takes its step here.
    pub(crate) fn takes(&mut self, index: u64) -> bool {
        if let Some(chain) = &mut self.chain {
            let leaves = if chain.is_bad { chain.spec.to_good } else { chain.spec.to_bad };
            chain.is_bad ^= chain.steps.fraction(index) < leaves.fraction();
            let state = if chain.is_bad { chain.spec.bad } else { chain.spec.good };
            self.share = state.fraction();
        }
        self.draws.fraction(index) < self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chance(share: f64) -> Probability {
        Probability::new(share).unwrap()
    }

    #[test]
    fn bursts_have_the_mean_and_the_length_that_were_asked_for() {
        for (mean, length) in [(0.01, 4.0), (0.05, 8.0), (0.3, 2.0)] {
            let bursts = Bursts::new(chance(mean), length).unwrap();
            let mut losses = Losses::new(Loss::Bursts(bursts), Seed(7));
            let lost: Vec<bool> = (0..400_000).map(|index| losses.takes(index)).collect();
            let total = lost.iter().filter(|&&lost| lost).count() as f64;
            let begun = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
            assert!((total / 400_000.0 / mean - 1.0).abs() < 0.1, "{mean} {total}");
            assert!((total / begun / length - 1.0).abs() < 0.1, "{length} {}", total / begun);
        }
    }

    #[test]
    fn the_first_packets_of_a_link_are_lost_as_often_as_all_others() {
        const LINKS: u64 = 100_000;
        let bursts = Loss::Bursts(Bursts::new(chance(0.01), 8.0).unwrap());
        let mut lost = [0.0; 10];
        for seed in 0..LINKS {
            let mut losses = Losses::new(bursts, Seed(1).nth(seed));
            (0..).zip(&mut lost).for_each(|(index, lost)| *lost += f64::from(losses.takes(index)));
        }
        // Five sigma of packets that are lost or not: sqrt(0.01 * 0.99 / LINKS) = 0.000315.
        let is_right = |lost: &f64| (lost / LINKS as f64 - 0.01).abs() < 0.0016;
        assert!(lost.iter().all(is_right), "{lost:?}");
    }

    #[test]
    fn a_chain_that_leaves_no_state_begins_in_the_good_one() {
        let (none, all) = (Probability::ZERO, chance(1.0));
        let chain = GilbertElliott { to_bad: none, to_good: none, bad: all, good: none };
        assert_eq!(Loss::GilbertElliott(chain).mean(), 0.0);
        assert!(
            (0..100).all(|seed| !Losses::new(Loss::GilbertElliott(chain), Seed(seed)).takes(0))
        );
    }

    #[test]
    fn bursts_that_cannot_be_are_none() {
        for (mean, length) in [(0.1, 0.5), (1.0, 3.0), (0.8, 2.0), (0.1, f64::NAN)] {
            assert!(Bursts::new(chance(mean), length).is_none(), "{mean} {length}");
        }
    }

    #[test]
    fn the_mean_of_a_chain_is_that_of_its_states() {
        let chain = GilbertElliott {
            to_bad: chance(0.01),
            to_good: chance(0.09),
            bad: chance(0.5),
            good: chance(0.01),
        };
        let mean = Loss::GilbertElliott(chain).mean();
        assert!((mean - 0.059).abs() < 1e-12);
        let mut losses = Losses::new(Loss::GilbertElliott(chain), Seed(3));
        let lost = (0..400_000).filter(|&index| losses.takes(index)).count() as f64;
        assert!((lost / 400_000.0 - mean).abs() < 0.005, "{lost}");
    }
}
