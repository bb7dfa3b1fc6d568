//! What hosts that load together show, in sentences.

use super::comparison::rate;
use loadline_analysis::{HostsLimit, HostsTogether, Straggler, StragglerSeen, name_on_hosts};
use loadline_record::{HostsFact, HostsGain, HostsTotal};
use loadline_units::words::{capital, counted, listed, number, percent, span};

/// Shares are as good as even from this index on.
const EVEN: f64 = 0.99;

/// Whose limit a total shows; the first letter is small, and no full stop follows.
pub(crate) fn limit(fact: &HostsFact) -> String {
    match fact {
        HostsFact::HostsHadAll { last, .. } => format!(
            "all that up to {} asked for came back: {}. The storage's limit was not reached; ask for more",
            hosts(last.hosts),
            rate(last.total)
        ),
        HostsFact::HostsFellShort { most, kept, last, .. } => format!(
            "the storage gives {}: {} have all that they ask for, {} share it, and each gets {}",
            rate(*most),
            hosts(kept.hosts),
            hosts(last.hosts),
            rate(last.each())
        ),
        HostsFact::HostsLevelOff { at, most, has_all, last, .. } => {
            let (all, own) = (hosts(at.hosts), rate(at.total));
            let takes = match at.hosts {
                _ if !has_all => format!("the storage gives {}, which more than {all} take", rate(*most)),
                1 => format!("one host takes all that the storage gives: {own}"),
                count => format!("{all} take all that the storage gives: {own}, each 1/{count} of it"),
            };
            format!("{takes}. {} only share it: each gets {}", hosts(last.hosts), rate(last.each()))
        }
        HostsFact::HostsAddUp { first, last, efficiency, level: Some(_) } => format!(
            "one host cannot load the storage, more hosts bring more: {}. The limit is each host's own",
            times(first, last, *efficiency)
        ),
        HostsFact::HostsAddUp { first, last, efficiency, level: None } => {
            format!("more hosts bring more: {}. The storage's limit was not reached", times(first, last, *efficiency))
        }
        HostsFact::HostsHaveLess { last, efficiency, .. } => format!(
            "more hosts bring more, and each has less: {}, {} of linear scaling. The end of the storage is not reached",
            reach(last),
            percent(*efficiency)
        ),
        HostsFact::HostsUnclear { last } => format!("{}; whether more hosts bring more is not clear", reach(last)),
    }
}

/// What shows it; the first letter is small, and no full stop follows.
pub(crate) fn shows(fact: &HostsFact) -> String {
    match fact {
        HostsFact::HostsHadAll { asked_each, .. } => {
            format!("each host asked for {}, and had it", rate(*asked_each))
        }
        HostsFact::HostsFellShort { asked_each, kept, short, .. } => {
            let had = |of: &HostsTotal| {
                let asked = asked_each.map(|asked| asked * f64::from(of.hosts));
                format!("{} had {} of {}", hosts(of.hosts), rate(of.total), rate(asked))
            };
            format!("each asks for {}: {}, {}", rate(*asked_each), had(kept), had(short))
        }
        HostsFact::HostsLevelOff { at, first, last, gains, .. } => format!(
            "from {} to {} the total goes from {} to {} ({}), and each host from {} to {}",
            hosts(at.hosts),
            last.hosts,
            rate(at.total),
            rate(last.total),
            listed(&gains.iter().map(gained).collect::<Vec<_>>()),
            rate(first.each()),
            rate(last.each())
        ),
        HostsFact::HostsAddUp { first, level: Some([shallow, deep]), .. } => format!(
            "{} has {} at {} in flight and {} at {}: deeper queues bring it no more, another host as much again",
            name_on_hosts(first.hosts, None),
            rate(shallow.rate),
            number(shallow.in_flight as f64),
            rate(deep.rate),
            number(deep.in_flight as f64)
        ),
        HostsFact::HostsAddUp { level: None, .. } => {
            "the total grows with the number of hosts, and one host was not seen to level off over its queue depths"
                .to_owned()
        }
        HostsFact::HostsHaveLess { first, last, .. } => format!(
            "each of {} has {}, each of {} {}",
            hosts(first.hosts),
            rate(first.each()),
            hosts(last.hosts),
            rate(last.each())
        ),
        HostsFact::HostsUnclear { .. } => {
            "the intervals of the last steps are too wide: more trials or longer ones narrow them".to_owned()
        }
    }
}

/// Whose limit it is, as a sentence with the load: with a capital and a full stop.
pub(crate) fn limit_of(fact: &HostsFact, load: &str) -> String {
    capital(&format!("{} ({load}).", limit(fact)))
}

fn hosts(count: u32) -> String {
    counted(count as usize, "host")
}

fn reach(all: &HostsTotal) -> String {
    format!("{} reach {}", hosts(all.hosts), rate(all.total))
}

/// "8 hosts reach 16,000 IOPS, 99 % of 8 times one".
fn times(first: &HostsTotal, last: &HostsTotal, efficiency: f64) -> String {
    let base = if first.hosts == 1 { "one".to_owned() } else { hosts(first.hosts) };
    format!("{}, {} of {} times {base}", reach(last), percent(efficiency), last.hosts / first.hosts)
}

/// What a step brought, as a share of linear scaling.
fn gained(gain: &HostsGain) -> String {
    let ends = gain.share_low.zip(gain.share_high);
    let ends = ends.map_or_else(String::new, |(low, high)| format!(", {:.0} to {:.0} %", low * 100.0, high * 100.0));
    format!("{} hosts more brought {:.0} %{ends} of linear scaling", gain.hosts_more, gain.share * 100.0)
}

/// What shows that a host stayed behind.
pub(crate) fn straggler(seen: &StragglerSeen) -> String {
    match *seen {
        StragglerSeen::StoodStill { length_ns, from_ns, stopped_ns } => {
            let tool = match stopped_ns {
                0 => String::new(),
                stopped => format!("; its tool itself was kept from running for {}", span(stopped as f64)),
            };
            format!(
                "it stood still for at least {}, from {} on, while the others went on{tool}",
                span(length_ns as f64),
                span(from_ns as f64)
            )
        }
        StragglerSeen::ToolStopped { stopped_ns, window_ns } => format!(
            "it stood still: its tool was kept from running for {} of {}",
            span(stopped_ns as f64),
            span(window_ns as f64)
        ),
        StragglerSeen::Slower { iops, iops_low, iops_high, others_iops } => format!(
            "{} requests/s ({} to {}) while the others had {}",
            number(iops),
            number(iops_low),
            number(iops_high),
            number(others_iops)
        ),
    }
}

/// What several hosts had of a load together.
pub(super) fn together(seen: &HostsTogether) -> String {
    let even = match seen.jain_index {
        jain if jain >= EVEN => "in even shares".to_owned(),
        jain => format!("in uneven shares (Jain's index {jain:.2})"),
    };
    format!(
        "{} hosts together had {} requests/s under {}, {even}. They began within {} and all ran together for {} of the time.{}{}",
        seen.hosts,
        number(seen.iops),
        seen.load,
        span(seen.start_spread_ns as f64),
        percent(seen.coverage),
        seen.limit.map_or("", limit_of_one_number),
        behind(&seen.stragglers)
    )
}

fn behind(stragglers: &[Straggler]) -> String {
    let some = |one: &Straggler| format!("{} stayed behind: {}", one.host, straggler(&one.seen));
    match stragglers.iter().map(some).collect::<Vec<_>>().as_slice() {
        [] => " No host stayed behind.".to_owned(),
        some => format!(" {}.", some.join(". ")),
    }
}

/// Whose limit a single number of hosts shows.
const fn limit_of_one_number(limit: HostsLimit) -> &'static str {
    match limit {
        HostsLimit::Arrival => " Storage and hosts had room: all that was asked for came back.",
        HostsLimit::EachHost => " The limit is that of the hosts, not of the storage that they share.",
        HostsLimit::Shared => " The limit is the shared storage's.",
        HostsLimit::Unclear | HostsLimit::NotReached | HostsLimit::Growing => {
            " One number of hosts does not show whether the limit is the storage's or each host's own. Steps with fewer hosts \
             do."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_record::{InFlightRate, Rate};

    fn total(hosts: u32, iops: f64) -> HostsTotal {
        HostsTotal { hosts, total: Rate::Iops(iops) }
    }

    /// The totals of 1, so many and 8 hosts, beyond which no more comes.
    fn level_off(at: HostsTotal, most: f64, has_all: bool) -> HostsFact {
        let gain = HostsGain { hosts_more: 4, share: 0.01, share_low: Some(-0.02), share_high: Some(0.04) };
        let (first, last) = (total(1, 2_000.0), total(8, most));
        HostsFact::HostsLevelOff { at, most: Rate::Iops(most), has_all, first, last, gains: vec![gain] }
    }

    #[test]
    fn a_storage_that_hosts_exhaust_is_the_limit() {
        let four = level_off(total(4, 8_000.0), 8_080.0, true);
        assert_eq!(
            limit(&four),
            "4 hosts take all that the storage gives: 8,000 IOPS, each 1/4 of it. 8 hosts only share it: each gets 1,010 IOPS"
        );
        assert_eq!(
            shows(&four),
            "from 4 hosts to 8 the total goes from 8,000 IOPS to 8,080 IOPS (4 hosts more brought 1 %, -2 to 4 % of linear scaling), \
             and each host from 2,000 IOPS to 1,010 IOPS"
        );
        assert_eq!(
            limit_of(&level_off(total(1, 2_000.0), 2_000.0, true), "random 4 KiB reads"),
            "One host takes all that the storage gives: 2,000 IOPS. 8 hosts only share it: each gets 250 IOPS (random 4 KiB reads)."
        );
        assert!(
            limit(&level_off(total(4, 8_000.0), 9_000.0, false))
                .starts_with("the storage gives 9,000 IOPS, which more than 4 hosts take. 8 hosts only share it")
        );
    }

    #[test]
    fn hosts_that_add_up_have_limits_of_their_own_if_deeper_queues_bring_no_more() {
        let at = |in_flight, iops| InFlightRate { in_flight, rate: Rate::Iops(iops) };
        let add_up = |level| HostsFact::HostsAddUp {
            first: total(1, 2_000.0),
            last: total(8, 16_000.0),
            efficiency: 1.0,
            level,
        };
        let own = add_up(Some([at(8, 2_000.0), at(32, 2_010.0)]));
        assert_eq!(
            limit(&own),
            "one host cannot load the storage, more hosts bring more: 8 hosts reach 16,000 IOPS, 100 % of 8 times one. The limit is each \
             host's own"
        );
        assert_eq!(
            shows(&own),
            "1 host has 2,000 IOPS at 8 in flight and 2,010 IOPS at 32: deeper queues bring it no more, another host as much again"
        );
        assert!(limit(&add_up(None)).ends_with("The storage's limit was not reached"));
    }

    #[test]
    fn rates_that_fall_short_are_said_beside_what_was_asked() {
        let fact = HostsFact::HostsFellShort {
            asked_each: Rate::Iops(1_000.0),
            most: Rate::Iops(2_100.0),
            kept: total(2, 2_000.0),
            short: total(4, 2_100.0),
            last: total(8, 2_000.0),
        };
        assert_eq!(
            limit(&fact),
            "the storage gives 2,100 IOPS: 2 hosts have all that they ask for, 8 hosts share it, and each gets 250 IOPS"
        );
        assert_eq!(
            shows(&fact),
            "each asks for 1,000 IOPS: 2 hosts had 2,000 IOPS of 2,000 IOPS, 4 hosts had 2,100 IOPS of 4,000 IOPS"
        );
    }

    #[test]
    fn a_host_that_stayed_behind_stood_still_or_had_less() {
        let stood =
            |stopped_ns| StragglerSeen::StoodStill { length_ns: 2_000_000_000, from_ns: 4_000_000_000, stopped_ns };
        let alone = "it stood still for at least 2.00 s, from 4.00 s on, while the others went on";
        assert_eq!(straggler(&stood(0)), alone);
        let stopped = format!("{alone}; its tool itself was kept from running for 1.90 s");
        assert_eq!(straggler(&stood(1_900_000_000)), stopped);
        let slower = StragglerSeen::Slower { iops: 900.0, iops_low: 880.0, iops_high: 920.0, others_iops: 1_000.0 };
        assert_eq!(straggler(&slower), "900 requests/s (880 to 920) while the others had 1,000");
    }
}
