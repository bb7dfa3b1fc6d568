//! How a rate went.

use loadline_analysis::listed;
use loadline_record::CourseFact;
use loadline_units::words::{number, percent, seconds};

pub(in crate::words) fn course(fact: &CourseFact) -> String {
    match fact {
        CourseFact::BurstSpent { at_ns, before_iops, after_iops, earlier } => {
            let parts: Vec<String> = (earlier.iter())
                .map(|fall| format!("{} before {}", number(fall.before_iops), seconds(fall.at_ns)))
                .collect();
            let earlier =
                if parts.is_empty() { String::new() } else { format!(" It had been {}.", parts.join(" and ")) };
            format!(
                "After {} of load the rate fell from {} to {} IOPS and stayed there: what was saved up was spent.{earlier}",
                seconds(*at_ns),
                number(*before_iops),
                number(*after_iops)
            )
        }
        CourseFact::FellFrom { at_ns, before_iops } => {
            format!("After {} of load the rate fell from {} IOPS.", seconds(*at_ns), number(*before_iops))
        }
        CourseFact::BeganHigher { at_ns, before_iops, after_iops } => format!(
            "It began with {} IOPS and had {} from {} of load on: a bucket that was full, or a limit set anew.",
            number(*before_iops),
            number(*after_iops),
            seconds(*at_ns)
        ),
        CourseFact::Rose { levels } => {
            let parts: Vec<String> = (levels.iter())
                .map(|level| format!("{} IOPS for {}", number(level.rate_iops), seconds(level.length_ns)))
                .collect();
            format!("Its rate rose while it was measured: {}; the last level counts.", listed(&parts))
        }
        CourseFact::StoodStill { share, lacks_share } => {
            let lacks = lacks_share.map_or_else(String::new, |lacks| {
                format!(", and the load lacks {} of what it asks for", percent(lacks))
            });
            format!("The device stood still for {} of the time (finding `stalls`){lacks}.", percent(*share))
        }
        CourseFact::GotFaster { trials, first_iops, last_iops, share } => format!(
            "Over {} trials the reads got faster, from {} to {} IOPS (by {}), over the same data: something below, such as a cache of \
             the host, keeps what was read. More trials, until they no longer differ, or a larger area tell where it ends.",
            number(*trials as f64),
            number(*first_iops),
            number(*last_iops),
            percent(*share)
        ),
    }
}
