//! Up to which load a latency is kept.

use super::how_long;
use super::rates::in_flight;
use loadline_analysis::{
    ArrivalsResult, DepthResult, KeptLoad, ObjectiveRule, ObjectiveSeen, ObjectiveTurn, SearchDraws, SearchedTurn,
    SharesOfAnother, StrayLoad, TriedLoad,
};
use loadline_block::Operation;
use loadline_load::LatencyFigure;
use loadline_record::DoubtCode;
use loadline_units::words::{counted, listed, number, percent, span};
use loadline_units::{Duration, percent_places};

/// "20 ms on average (the usual rule)".
pub(super) fn name(objective: ObjectiveRule) -> String {
    let limit = Duration::from_ns(objective.limit_ns);
    let figure = match objective.figure {
        LatencyFigure::Mean => "on average".to_owned(),
        figure => format!("at {}", figure.words()),
    };
    let usual = if objective.chosen { "" } else { " (the usual rule)" };
    format!("{limit} {figure}{usual}")
}

/// Where loads lose it, and every aside.
pub(super) fn turn(seen: &ObjectiveSeen, cells: usize) -> String {
    let (load, objective) = (&seen.load, name(seen.objective));
    let (text, is_lost) = match &seen.turn {
        ObjectiveTurn::BetweenDepths { kept, lost, level_in_flight } => {
            let between = level_in_flight.map_or_else(String::new, |requests| {
                let limit = Duration::from_ns(seen.objective.limit_ns);
                format!(" Since the rate is level there, {} outstanding take {limit}.", number(requests))
            });
            let text = format!(
                "{load} stay within {objective} up to {} ({}, {}); at {} it is {}.{between}",
                in_flight(kept.in_flight),
                of_depth(kept),
                rate(kept),
                in_flight(lost.in_flight),
                of_depth(lost)
            );
            (text, true)
        }
        ObjectiveTurn::MissedAtDepths { lost } => {
            // What a burst has before it is spent is not what is judged.
            let then = lost.before.map_or_else(String::new, |_| format!(" ({})", rate(lost)));
            let (latency, depth) = (of_depth(lost), in_flight(lost.in_flight));
            (format!("{load} miss {objective} at every depth tried: {latency} already at {depth}{then}."), true)
        }
        ObjectiveTurn::KeptAtDeepest { kept } => {
            let (depth, latency, rate) = (in_flight(kept.in_flight), of_depth(kept), rate(kept));
            (format!("{load} stay within {objective} at {depth}, the deepest measured ({latency}, {rate})."), false)
        }
        ObjectiveTurn::BetweenRates { kept, lost } => {
            let text = format!(
                "{load} stay within {objective} up to {} arriving a second ({} {}; {}), and break it at {} ({}): {}.",
                number(kept.offered_iops),
                share(kept),
                of_most(kept),
                of_arrivals(kept),
                number(lost.offered_iops),
                share(lost),
                missed_by(lost, seen.objective.limit_ns, "")
            );
            (text, true)
        }
        ObjectiveTurn::KeptAtHighest { kept } => {
            let (rate, share, most) = (number(kept.offered_iops), share(kept), of_most(kept));
            let text = format!(
                "{load} stay within {objective} up to {rate} arriving a second, the most offered ({share} {most}; {}).",
                of_arrivals(kept)
            );
            (text, false)
        }
        ObjectiveTurn::MissedAtRates { lost } => {
            let text = format!(
                "{load} miss {objective} at every rate offered: {} with {} arriving a second ({} {}).",
                missed_by(lost, seen.objective.limit_ns, " already"),
                number(lost.offered_iops),
                share(lost),
                of_most(lost)
            );
            (text, true)
        }
    };
    let strays = strays(&seen.strays, is_lost);
    let search = seen.search.as_ref().map(searched).unwrap_or_default();
    let shares = seen.shares.map_or_else(String::new, |shares| format!(" The {}.", shares_of(shares)));
    format!("{text}{strays}{search}{shares}{}", doubts(&seen.doubts, cells))
}

/// Every doubt of what an objective rests on.
pub(super) fn doubts(codes: &[DoubtCode], cells: usize) -> String {
    let of = if cells == 1 { "the load behind it" } else { "the loads behind it" };
    if codes.is_empty() { String::new() } else { format!(" Doubts of {of}: {}.", super::codes(codes)) }
}

pub(super) fn kept_everywhere(objective: ObjectiveRule, loads: &[KeptLoad], more: usize) -> String {
    let mut parts: Vec<String> = loads.iter().map(kept).collect();
    if more > 0 {
        parts.push(format!("{} more", counted(more, "load")));
    }
    format!("latency stays within {} as far as was measured: {}.", name(objective), listed(&parts))
}

fn kept(load: &KeptLoad) -> String {
    match load {
        KeptLoad::Closed { load, deepest } => {
            format!("{load} up to {} ({})", in_flight(deepest.in_flight), of_depth(deepest))
        }
        KeptLoad::Open { load, highest, shares } => {
            let shares = shares.map_or_else(String::new, |shares| format!("; the {}", shares_of(shares)));
            format!(
                "{load} up to {} arriving a second ({} {}; {}){shares}",
                number(highest.offered_iops),
                share(highest),
                of_most(highest),
                of_arrivals(highest)
            )
        }
    }
}

/// A latency, with whose it is.
pub(super) fn latency(ns: f64, operation: Option<Operation>) -> String {
    match operation {
        None => span(ns),
        Some(Operation::Read) => format!("{} for reads", span(ns)),
        Some(Operation::Write) => format!("{} for writes", span(ns)),
        Some(Operation::Trim) => format!("{} for trims", span(ns)),
        Some(Operation::Flush) => format!("{} for flushes", span(ns)),
    }
}

fn of_depth(result: &DepthResult) -> String {
    latency(result.latency_ns, result.operation)
}

/// A rate; where a burst raises it at first, what lasts, with what was before.
fn rate(result: &DepthResult) -> String {
    let before = result
        .before
        .map_or_else(String::new, |(before, before_ns)| format!(", after {} {}", number(before), how_long(before_ns)));
    format!("{} IOPS{before}", number(result.iops))
}

fn share(result: &ArrivalsResult) -> String {
    percent(result.offered_iops / result.most_iops)
}

fn of_most(result: &ArrivalsResult) -> String {
    let what = if result.is_level { "at which they level off" } else { "delivered at most" };
    format!("of the {} {what}", number(result.most_iops))
}

fn of_arrivals(result: &ArrivalsResult) -> String {
    result.latency_ns.map(span).unwrap_or_default()
}

/// How an open loop misses it, "at the other" or wherever else: by the latency of what is answered, or because not all is.
fn missed_by(result: &ArrivalsResult, limit_ns: u64, place: &str) -> String {
    match result.latency_ns {
        Some(figure) if figure > limit_ns as f64 => format!("{}{place}", span(figure)),
        figure => {
            let in_time = figure.map_or_else(String::new, |figure| format!(" (those in {})", span(figure)));
            format!("only {} of the arrivals are answered in time{place}{in_time}", answered(result.answered))
        }
    }
}

/// The share of the arrivals that was answered: to a tenth of a percent near 99 %, where that decides.
fn answered(share: f64) -> String {
    if share > 0.9 { format!("{:.*} %", percent_places(share * 100.0, 1), share * 100.0) } else { percent(share) }
}

/// "at depth 32", "with 5,000 arriving a second".
fn tried(load: TriedLoad) -> String {
    match load {
        TriedLoad::InFlight(requests) => format!("at {}", in_flight(requests)),
        TriedLoad::OfferedIops(rate) => format!("with {} arriving a second", number(rate)),
    }
}

fn strays(strays: &[StrayLoad], is_lost: bool) -> String {
    let Some(first) = strays.first() else { return String::new() };
    let heavier = match first.load {
        TriedLoad::InFlight(_) => "deeper queues",
        TriedLoad::OfferedIops(_) => "higher loads",
    };
    let of = |stray: &StrayLoad| {
        let why = stray.unanswered.map_or_else(String::new, |by| {
            format!(
                " (not by latency, {}: only {} of the arrivals were answered in time)",
                span(by.latency_ns),
                answered(by.answered)
            )
        });
        format!("{}{why}", tried(stray.load))
    };
    let missed: Vec<String> = strays.iter().map(of).collect();
    let again = if missed.len() == 1 { "that load" } else { "those loads" };
    let too = if is_lost { ", too" } else { "" };
    format!(
        " It was missed {}{too}, which {heavier} kept: more likely a passing disturbance than a limit; measure {again} again.",
        listed(&missed)
    )
}

fn searched(search: &SearchedTurn) -> String {
    let found = match (search.kept.map(tried), search.lost.map(tried)) {
        (Some(kept), Some(lost)) => {
            format!(" Found by search: with 95 % confidence it is kept {kept} and lost {lost}.")
        }
        (Some(kept), None) => {
            format!(
                " Found by search: with 95 % confidence it is kept {kept}; no load tried loses it with that confidence."
            )
        }
        (None, Some(lost)) => {
            format!(
                " Found by search: with 95 % confidence it is lost {lost}; no load tried keeps it with that confidence."
            )
        }
        (None, None) => " Found by search; its trials are too short to tell with what confidence.".to_owned(),
    };
    found + &search.draws.map(in_draws).unwrap_or_default()
}

/// Of a search on a model: in how many draws of it the objective holds, and up to which load it holds in all.
fn in_draws(draws: SearchDraws) -> String {
    let at = tried(draws.load);
    if draws.kept == draws.of {
        return format!(" It holds {at} in all {} draws of the model.", draws.of);
    }
    let rest = draws
        .all_keep
        .map_or_else(|| "no load tried holds it in all".to_owned(), |sure| format!("in all of them {}", tried(sure)));
    format!(" It holds {at} in {} of {} draws of the model; {rest}.", draws.kept, draws.of)
}

/// What the shares in the names of loads are of, without a full stop.
fn shares_of(shares: SharesOfAnother) -> String {
    format!(
        "shares in the names of these loads are of the {} reached just before the run; the run itself reached {}",
        number(shares.before_iops),
        number(shares.reached_iops)
    )
}
