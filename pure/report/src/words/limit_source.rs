//! Where figures of limits in the list of a run's limits come from, in words.

use super::ceiling::{ceiling_source, direction_level};
use loadline_record::{LimitSource, LoadsShown};
use loadline_units::words::{block, number, span, throughput};

/// "the level of 3 loads, from ... to ...".
#[must_use]
pub fn limit_source(source: &LimitSource) -> String {
    match source {
        LimitSource::Declared { source } => ceiling_source(source),
        LimitSource::Modelled { source, bound } => {
            let bound = loads(bound).unwrap_or_else(|| "none of the loads".to_owned());
            format!("{}; bound {bound}", ceiling_source(source))
        }
        LimitSource::Throttle { file } => format!("read from {file}"),
        LimitSource::MeanOf { load } => format!("the mean of {load}"),
        LimitSource::LevelOf { loads: shown, direction, presumed } => {
            let shown = loads(shown).unwrap_or_else(|| "the loads of this kind together".to_owned());
            let aside = match direction {
                Some(found) => format!("; no limit of its own: {}", direction_level(found)),
                None if *presumed => {
                    "; requests or bytes as disks are usually sold, since one block size was at a limit".to_owned()
                }
                None => String::new(),
            };
            format!("the level of {shown}{aside}")
        }
        LimitSource::BreakPoint { bytes_per_s, rate_iops } => {
            format!("{} over {} requests a second", throughput(*bytes_per_s), number(*rate_iops))
        }
        LimitSource::Fell { load, block_bytes, before_iops, after_iops } => format!(
            "{load}: the rate fell from {} to {} IOPS ({} requests)",
            number(*before_iops),
            number(*after_iops),
            block(*block_bytes)
        ),
        LimitSource::Windows { loads, least_ns, most_ns } => {
            let spread = match loads {
                1 => "; one load alone shows it".to_owned(),
                count => format!("; {} to {} over {count} loads", span(*least_ns), span(*most_ns)),
            };
            format!("latencies in two clusters: requests outstanding over the rate of slow ones{spread}")
        }
    }
}

/// The only one, or how many there are from the first to the last; `None`: none.
fn loads(shown: &LoadsShown) -> Option<String> {
    let (first, last) = (shown.first.as_ref()?, shown.last.as_ref()?);
    Some(if shown.loads == 1 { first.clone() } else { format!("{} loads, from {first} to {last}", shown.loads) })
}
