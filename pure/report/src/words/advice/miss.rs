//! Choices that just miss, in words.

use super::clock;
use loadline_advise::{Candidate, FixChange, Miss, Shortfall, SumKnown, objective_words};
use loadline_units::words::{percent, span};
use loadline_workload::Objective;

/// A choice that just misses; what it costs less where there is a winner.
pub(super) fn missed(miss: &Miss, objective: Option<Objective>, winner: Option<&Candidate>) -> String {
    let Miss { candidate, seen, .. } = miss;
    let seen = shortfall(seen, objective);
    let begin = match winner {
        Some(winner) => {
            let less = 1.0 - candidate.price_month.amount / winner.price_month.amount.max(1e-9);
            format!("{} costs {} less and {seen}", candidate.words(), percent(less))
        }
        None => format!("{} ({}) {seen}", candidate.words(), candidate.price_words()),
    };
    let fixed = miss.fix.as_ref().map_or_else(String::new, |fix| {
        let amount = SumKnown::of(true, fix.estimated).words(fix.amount);
        format!(" {} would do, at {amount} {}.", change(&fix.change), candidate.price_month.currency)
    });
    format!("{begin}.{fixed}")
}

/// What a choice misses, in words that follow its name.
pub(crate) fn shortfall(seen: &Shortfall, objective: Option<Objective>) -> String {
    let objective = || objective.map(objective_words).unwrap_or_default();
    match seen {
        Shortfall::Latency { latency_ns, scenarios } => format!(
            "misses {} in {} of {} scenarios: {} ({} to {})",
            objective(),
            scenarios.of - scenarios.met,
            scenarios.of,
            span(latency_ns.p99 as f64),
            span(latency_ns.p99_low as f64),
            span(latency_ns.p99_high as f64),
        ),
        Shortfall::RecordedLatency { replayed } => format!(
            "keeps {} for requests at random times, but not for the recorded ones: {}",
            objective(),
            replayed.words()
        ),
        Shortfall::RecordedPace { pace, replayed } => {
            let what = if replayed.flushes_per_s.is_some() { "commits" } else { "requests" };
            format!(
                "does {pace:.2} times the recorded {what}, after the answers that they waited for: {}",
                replayed.words()
            )
        }
        Shortfall::Limit { used, of, figure, .. } => format!("is asked {} of {figure} ({of})", percent(*used)),
        Shortfall::Time { short_share, of, figure } => {
            format!("is short for {} of the time, at {figure} ({of})", percent(*short_share))
        }
        Shortfall::Burst { short_share, ends_s, of } => {
            let (short, at) = (percent(*short_share), clock(*ends_s));
            format!("is short for {short} of the time: the burst of {of} ends after {at}")
        }
    }
}

/// What would do instead of what.
pub(crate) fn change(change: &FixChange) -> String {
    match change {
        FixChange::Machine { to, from } => format!("{to} instead of {from}"),
        FixChange::Disks { to, from } => format!("{} instead of {}", to.words(), from.words()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_advise::{DiskChoice, LatencyRange, ReplayedFigures, ReplayedRange, RequestTiming, ScenariosMet};
    use loadline_units::Duration;
    use loadline_workload::LatencyFigure;

    #[test]
    fn what_is_missed_has_its_figures() {
        let objective = Some(Objective { of: LatencyFigure::P99, limit: Duration::from_ms(10) });
        let said = |seen: &Shortfall| shortfall(seen, objective);
        let (of, figure) = ("each of 2 disks".to_owned(), "5,000 IOPS".to_owned());
        let latency_ns = LatencyRange { p99: 12_000_000, p99_low: 9_000_000, p99_high: 14_000_000 };
        let p99_ns = ReplayedRange { middle: 12_000_000, low: 12_000_000, high: 12_000_000 };
        let (by, keeps) = (RequestTiming::Time, Some(false));
        let replayed = ReplayedFigures { by, requests: 10, iops: 2_300.0, flushes_per_s: None, p99_ns, keeps };
        let all = [
            said(&Shortfall::Latency { latency_ns, scenarios: ScenariosMet { met: 40, of: 48 } }),
            said(&Shortfall::RecordedLatency { replayed }),
            said(&Shortfall::Limit { limit: "disk-iops".into(), used: 1.2, of: of.clone(), figure: figure.clone() }),
            said(&Shortfall::Time { short_share: 0.25, of: of.clone(), figure }),
            said(&Shortfall::Burst { short_share: 0.25, ends_s: 8_400.0, of }),
        ];
        let wanted = [
            "misses p99 of 10 ms in 8 of 48 scenarios: 12.0 ms (9.00 ms to 14.0 ms)",
            "keeps p99 of 10 ms for requests at random times, but not for the recorded ones: 2,300 IOPS, p99 12.0 ms",
            "is asked 120 % of 5,000 IOPS (each of 2 disks)",
            "is short for 25 % of the time, at 5,000 IOPS (each of 2 disks)",
            "is short for 25 % of the time: the burst of each of 2 disks ends after 2 h 20 min",
        ];
        assert_eq!(all, wanted);
    }

    #[test]
    fn a_change_names_both_parts() {
        let disks = |count| DiskChoice {
            sku: "azure/premium-p30".to_owned(),
            count,
            size_bytes: None,
            iops: None,
            throughput_bytes_per_s: None,
        };
        assert_eq!(
            change(&FixChange::Disks { to: disks(2), from: disks(1) }),
            "2 x azure/premium-p30 instead of azure/premium-p30"
        );
    }
}
