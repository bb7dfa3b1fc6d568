//! What ran beside a load.

use crate::words::ceiling_source;
use loadline_analysis::listed;
use loadline_record::{BesideFact, LimitShown, LoadRate, LoadShare};
use loadline_units::words::{number, percent, span};

pub(in crate::words) fn beside(fact: &BesideFact) -> String {
    match fact {
        BesideFact::Others { share, others_iops, rate_iops, process } => format!(
            "Others took {} of what the devices did, {} requests a second beside {} of this load{}.",
            percent(*share),
            number(*others_iops),
            number(*rate_iops),
            process.as_ref().map_or_else(String::new, |name| format!(" (the busiest other process was {name})"))
        ),
        BesideFact::OneLevelTogether { rate_iops } => {
            format!("Both together come to one level at several depths: {} a second.", number(*rate_iops))
        }
        BesideFact::SameLimit { rate_iops } => {
            format!("If they have the same limit, it is {} requests a second.", number(*rate_iops))
        }
        BesideFact::OthersHide => {
            "What limits this load beside them is not known: measure again with nothing else on the device.".to_owned()
        }
        BesideFact::Together { share, limit_iops, beside, all_share, limit } => {
            together(*share, *limit_iops, beside, *all_share, limit)
        }
        BesideFact::SingleBeside { latency_ns, beside } => format!(
            "It has one request at a time, and one takes {} beside {}: how long by itself, another run shows.",
            span(*latency_ns),
            loads(beside)
        ),
        BesideFact::SumAsAlone { sum_iops, alone_iops, beside } => format!(
            "With {} beside it the loads had {} IOPS together, and each had as much by itself ({} IOPS): they share one limit.",
            loads(beside),
            number(*sum_iops),
            number(*alone_iops)
        ),
        BesideFact::RanBeside { beside } => format!(
            "Beside it ran {}. Which limit they share does not show in their figures alone: measure each by itself as well.",
            loads(beside)
        ),
    }
}

fn together(share: f64, limit_iops: f64, beside: &[LoadShare], all_share: f64, limit: &LimitShown) -> String {
    let others: Vec<String> = beside.iter().map(|of| format!("{} {}", of.load, percent(of.share))).collect();
    let others = if others.is_empty() { String::new() } else { format!(", beside it {}", listed(&others)) };
    let from = match limit {
        LimitShown::Declared(source) => format!(": {}", ceiling_source(source)),
        LimitShown::ByItself { load } => format!(", as the loads had it that ran by themselves, such as {load}"),
    };
    format!("It took {} of {} IOPS{others}: {} in all{from}.", percent(share), number(limit_iops), percent(all_share))
}

/// "log at 40 a second and data".
fn loads(beside: &[LoadRate]) -> String {
    let text = |of: &LoadRate| {
        let rate = of.rate_iops.map_or_else(String::new, |rate| format!(" at {} a second", number(rate)));
        format!("{}{rate}", of.load)
    };
    listed(&beside.iter().map(text).collect::<Vec<String>>())
}
