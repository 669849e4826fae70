//! The settings of a path in words, for people. None stands for the usual setting, which goes without saying.

use crate::active::Discipline;
use crate::codel::{Codel, EcnMarks};
use crate::loss::Loss;
use crate::policer::{Policer, Udp};
use crate::spec::{Order, Reordering, span};

pub(crate) fn discipline(discipline: Discipline) -> Option<String> {
    let (name, codel) = match discipline {
        Discipline::DropTail => return None,
        Discipline::Codel(codel) => ("CoDel", codel),
        Discipline::FqCodel(codel) => ("FQ-CoDel", codel),
    };
    let Codel { target, interval, ecn } = codel;
    let times = match (target, interval) == (Codel::default().target, Codel::default().interval) {
        true => String::new(),
        false => format!(" {} of {}", span(target), span(interval)),
    };
    let ecn = match ecn {
        EcnMarks::Set => " with ECN",
        EcnMarks::Unused => " without ECN",
    };
    Some(format!("{name}{times}{ecn}"))
}

pub(crate) fn policer(policer: Option<Policer>) -> Option<String> {
    policer.map(|Policer { rate, burst }| format!("{rate} with bursts of {burst}"))
}

pub(crate) fn udp(udp: Udp) -> Option<String> {
    match udp {
        Udp::Allowed => None,
        Udp::Blocked => Some("blocked".to_owned()),
        Udp::Policed(limit) => policer(Some(limit)),
    }
}

pub(crate) fn loss(loss: Loss) -> Option<String> {
    match loss {
        Loss::NONE => None,
        Loss::Independent(share) => Some(share.to_string()),
        Loss::Bursts(bursts) => {
            Some(format!("{} in bursts of {} packets", bursts.mean(), bursts.length()))
        }
        Loss::GilbertElliott(chain) => Some(format!(
            "{} or {} (Gilbert-Elliott, p {}, r {})",
            chain.good, chain.bad, chain.to_bad, chain.to_good
        )),
    }
}

pub(crate) fn order(order: Order) -> String {
    match order {
        Order::Kept => "kept".to_owned(),
        Order::Free => "free".to_owned(),
        Order::Reordered { share, by: Reordering::Time(time) } => {
            format!("of {share} held back by {}", span(time))
        }
        Order::Reordered { share, by: Reordering::Packets(packets) } => {
            format!("of {share} held back by {packets} packets")
        }
    }
}
