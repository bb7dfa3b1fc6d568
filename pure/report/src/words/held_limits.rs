//! Limits that hold run after run, in words.

use crate::figures::plain;
use crate::rows::limit_name;
use loadline_analysis::{HeldCount, HeldLimit};

/// "disk-iops", or "disk-iops (throttle of /db)".
pub(crate) fn name(limit: &HeldLimit) -> String {
    let name = limit_name(limit.limit);
    match &limit.group {
        Some(group) => format!("{name} (throttle of {})", plain(group)),
        None => name.to_owned(),
    }
}

/// "disk-iops (throttle of /db), in 28 of 30", and with the volume where there are several.
pub(crate) fn brief(held: &[HeldCount]) -> String {
    let one = |count: &HeldCount| {
        let of = if held.len() > 1 { format!("{}: ", plain(&count.limit.volume)) } else { String::new() };
        let often = if count.of > 1 { format!(", in {} of {}", count.runs, count.of) } else { String::new() };
        format!("{of}{}{often}", name(&count.limit))
    };
    held.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// How often each limit held, a sentence each; none of a run that is the first of its name.
pub(crate) fn counted(held: &[HeldCount]) -> Vec<String> {
    let sentence = |count: &HeldCount| {
        let volume = &count.limit.volume;
        let of = if volume.is_empty() { String::new() } else { format!(" held {}", plain(volume)) };
        let held = if of.is_empty() { " held" } else { "" };
        format!(
            "The limit {}{of}{held} in {} of the last {} runs of this name, this one included.",
            name(&count.limit),
            count.runs,
            count.of
        )
    };
    held.iter().filter(|count| count.of > 1).map(sentence).collect()
}
