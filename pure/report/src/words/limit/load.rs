//! What a load asks for by itself.

use crate::words::doubt_detail;
use loadline_record::{Asked, LoadFact, OwnTimeShown};
use loadline_units::words::{number, percent, span};

pub(in crate::words) fn load(fact: &LoadFact) -> String {
    match fact {
        LoadFact::Offered(of) => format!("{}.", offered(*of, "offered")),
        LoadFact::OwnCeiling(of) => format!("{}.", offered(*of, "allowed by the load's own ceiling")),
        LoadFact::UnmetWithoutCause { share } => {
            format!("Only {} of the offered load was completed, and no other cell shows why.", percent(*share))
        }
        LoadFact::Paced => "The load waits by its own will, and stays below its ceiling.".to_owned(),
        LoadFact::GrowsLess => {
            "The rate grows less than the depth does, and has not levelled off within the depths measured.".to_owned()
        }
        LoadFact::OneDepth => {
            "It was measured at one depth alone: to be sure, test twice and half the depth too.".to_owned()
        }
        LoadFact::SingleRequests { .. } | LoadFact::GrowsWithDepth { .. } | LoadFact::OwnTime { .. } => own_time(fact),
        LoadFact::TwiceAsMany { depth } => {
            format!("Twice {} outstanding would make twice as many, if that is so.", number(*depth as f64))
        }
        LoadFact::Thinks { .. } | LoadFact::ThinksAndWaits { .. } | LoadFact::ThinksLess { .. } => thinking(fact),
        LoadFact::ThinksAtLimit { share } => {
            format!("Think time takes {} of the load's time, and it comes to a limit all the same:", percent(*share))
        }
        LoadFact::ShareOfTurn { turn_ns, latency_ns } => format!(
            "Of the {} from one request to the next, {} are its latency as it was reported; the rest is its submission and the tool's own work.",
            span(*turn_ns),
            span(*latency_ns)
        ),
        LoadFact::HeldItselfBack { in_flight, depth, latency_ns, rate_iops } => format!(
            "{} IOPS of {} each are {in_flight:.2} requests in flight on average, and the load may have {}: it held itself back, by a rate, by \
             think time or by work of its own, and the storage waited for it.",
            number(*rate_iops),
            span(*latency_ns),
            number(*depth)
        ),
        LoadFact::Flushes { share, flushes_per_s, latency_ns } => format!(
            "Flushes take {} of the load's time: {} a second of {} each.",
            percent(*share),
            number(*flushes_per_s),
            span(*latency_ns)
        ),
        LoadFact::FlushesCounted { share, flushes_per_s } => format!(
            "{} flushes a second are {} of all that the load asks, and each waits until the disk has written. How long each takes is not \
             known.",
            number(*flushes_per_s),
            percent(*share)
        ),
        LoadFact::Amplified { written_iops, asked_iops, times } => format!(
            "The devices wrote {} requests a second for {} that were asked, {times:.1} for each: the file system's journal and metadata \
             are the others.",
            number(*written_iops),
            number(*asked_iops)
        ),
        LoadFact::NullTarget => "The target is nothing at all: the tool measured itself.".to_owned(),
        LoadFact::Failed { detail } => {
            format!("Failures ended the measurement before a limit could show: {}.", detail.trim_end_matches('.'))
        }
        LoadFact::Doubted { doubt } => doubt_detail(doubt),
    }
}

/// "Of 5,500 requests a second offered, 5,000 were completed".
pub(super) fn offered(of: Asked, how: &str) -> String {
    format!("Of {} requests a second {how}, {} were completed", number(of.asked_iops), number(of.completed_iops))
}

fn own_time(fact: &LoadFact) -> String {
    match fact {
        LoadFact::SingleRequests { latency_ns, rate_iops, deeper } => {
            let then = deeper.map_or_else(
                || "nothing else was waiting".to_owned(),
                |deeper| format!("{} outstanding make {}", number(deeper.depth as f64), number(deeper.rate_iops)),
            );
            format!("1 outstanding at {} each make {} IOPS; {then}.", span(*latency_ns), number(*rate_iops))
        }
        LoadFact::GrowsWithDepth { depth, latency_ns, from, to } => format!(
            "{} outstanding at {} each: the rate still grows with the depth, from {} IOPS at {} to {} at {}.",
            number(*depth as f64),
            span(*latency_ns),
            number(from.rate_iops),
            number(from.depth as f64),
            number(to.rate_iops),
            number(to.depth as f64)
        ),
        LoadFact::OwnTime { depth, latency_ns, rate_iops, shown } => {
            let what = match shown {
                OwnTimeShown::CountedOut => {
                    "something counts them out or lets them through in turns, but no limit on requests or bytes that other loads show \
                     comes to this rate"
                }
                OwnTimeShown::SoManyAtOnce => {
                    "they take longer the more are outstanding, and no limit on requests or bytes explains the rate: the device serves \
                     only so many at once"
                }
                OwnTimeShown::TakeLonger => {
                    "they take longer the more are outstanding, and no limit on requests or bytes explains the rate"
                }
                OwnTimeShown::NothingWaits => "nothing shows that requests wait for more than the device's own time",
            };
            format!(
                "{} outstanding at {} each make {} IOPS, and {what}.",
                number(*depth as f64),
                span(*latency_ns),
                number(*rate_iops)
            )
        }
        _ => String::new(),
    }
}

fn thinking(fact: &LoadFact) -> String {
    match fact {
        LoadFact::Thinks { share, depth, think_ns, asked_iops, rate_iops } => format!(
            "Think time takes {} of the load's time: {} outstanding, each {} after the answer before it, ask for {} requests a second at \
             most, and {} were completed.",
            percent(*share),
            number(*depth),
            span(*think_ns),
            number(*asked_iops),
            number(*rate_iops)
        ),
        LoadFact::ThinksAndWaits { share, depth, think_ns, latency_ns, fewer_ns, asked_iops, rate_iops } => format!(
            "Think time takes {} of the load's time: {} outstanding, each {} after the answer before it and answered after {}{}, come to \
             {} requests a second at most, and {} were completed; no limit that was seen lies there.",
            percent(*share),
            number(*depth),
            span(*think_ns),
            span(*latency_ns),
            fewer_ns.map_or_else(String::new, |fewer| format!(", and {} where fewer are outstanding", span(fewer))),
            number(*asked_iops),
            number(*rate_iops)
        ),
        LoadFact::ThinksLess { share, depth, think_ns, latency_ns, rate_iops } => format!(
            "{} outstanding, each answered after {} and the next {} later, make {} IOPS: think time takes {} of the load's time, and its \
             requests' own latency the larger part; nothing shows that they wait for more than that.",
            number(*depth),
            span(*latency_ns),
            span(*think_ns),
            number(*rate_iops),
            percent(*share)
        ),
        _ => String::new(),
    }
}
