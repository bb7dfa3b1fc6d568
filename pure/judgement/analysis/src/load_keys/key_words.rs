//! The words for each key of a load.

use super::{KeyWords, LoadKey};
use loadline_load::{
    Arrival, Distribution, Fill, FlushCadence, FlushMethod, LoadSpec, Objective, Pattern, SteadyStateRule, Walk,
};
use loadline_record::{ArrivalKind, LoadFigures};
use loadline_units::words::{block, percent, seconds, size};
use loadline_units::{Duration, Ratio};
use serde_json::Value;
use std::collections::BTreeMap;

/// What there is, in these words.
pub(super) fn said(text: impl Into<String>) -> KeyWords {
    KeyWords { text: text.into(), is_absence: false }
}

/// What there is not, in these words.
fn absent(text: &str) -> KeyWords {
    KeyWords { text: text.to_owned(), is_absence: true }
}

fn switch(is_on: bool, on: &str, off: &str) -> KeyWords {
    if is_on { said(on) } else { absent(off) }
}

fn lasting(what: &str, span: Duration) -> KeyWords {
    said(if span == Duration::ZERO { format!("no {what}") } else { format!("{what} {span}") })
}

/// What a load lacks of which the key has no value.
pub(super) fn missing(key: &LoadKey) -> KeyWords {
    match key {
        LoadKey::Trims => absent("no trims"),
        LoadKey::Size => absent("over all of it"),
        LoadKey::Align => absent("aligned to its blocks"),
        LoadKey::Start => absent("from the start on"),
        LoadKey::Files => absent("1 file"),
        LoadKey::Walk => absent("onward"),
        LoadKey::Overlap => absent("a stretch for each thread"),
        LoadKey::Flush => absent("never flushed"),
        LoadKey::EndFlush => absent("not flushed at the end"),
        LoadKey::Buffered => absent("not buffered"),
        LoadKey::Verify => absent("not verified"),
        LoadKey::RateMax => absent("at any rate"),
        LoadKey::ThinkTime => absent("no think time"),
        LoadKey::DropCaches => absent("caches kept"),
        LoadKey::Volume => absent("no bound in bytes"),
        LoadKey::Passes => absent("no bound in passes"),
        LoadKey::WarmUp => said("no warm-up"),
        LoadKey::CoolDown => said("no cool-down"),
        LoadKey::Pause => said("no pause"),
        LoadKey::SteadyState => absent("steady or not"),
        LoadKey::Objective => absent("no objective"),
        LoadKey::Name => absent("without a name"),
        LoadKey::BestOfTrials => absent("all trials"),
        _ => plainly(key, &Value::Null),
    }
}

/// What every load has in words, whether a plan's or not.
pub(super) fn words_of_tables(figures: &LoadFigures) -> BTreeMap<LoadKey, KeyWords> {
    let mut words = BTreeMap::from([
        (LoadKey::Pattern, said(figures.pattern.name())),
        (LoadKey::Reads, said(format!("{} reads", percent(figures.read_ratio)))),
        (LoadKey::Blocks, said(block(figures.block_bytes))),
        (LoadKey::Buffered, switch(figures.buffered, "buffered", "not buffered")),
        (
            LoadKey::Threads,
            said(if figures.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", figures.threads) }),
        ),
        (LoadKey::Duration, said(format!("for {}", seconds(figures.duration_ns)))),
        (
            LoadKey::Arrival,
            match &figures.arrival {
                ArrivalKind::Closed => absent("closed loop"),
                ArrivalKind::Constant => said("arriving evenly"),
                ArrivalKind::Poisson => said("arriving by chance"),
                other => said(other.name()),
            },
        ),
    ]);
    words.extend(figures.size_bytes.map(|bytes| (LoadKey::Size, said(format!("over {}", size(bytes))))));
    words.extend(figures.flush_every.map(|every| (LoadKey::Flush, said(format!("flush every {every}")))));
    words.extend(figures.rate_iops.map(|rate| (LoadKey::RateMax, said(format!("at most {rate} IOPS")))));
    words.extend(figures.objective.map(|of| (LoadKey::Objective, objective(of))));
    words
}

fn objective(of: Objective) -> KeyWords {
    said(format!("objective {} {}", of.of.words(), of.limit))
}

/// A plan's load in words, but for what tables have of it.
pub(super) fn words_of_plan(spec: &LoadSpec) -> Vec<(LoadKey, KeyWords)> {
    let LoadSpec {
        name,
        pattern,
        reads: _,
        trims,
        blocks,
        align,
        arrival,
        threads: _,
        size,
        size_share,
        staggered,
        start,
        files,
        in_turn,
        continued,
        zones,
        flush,
        buffered: _,
        content,
        verify,
        fill,
        drop_caches,
        warm_up,
        cool_down,
        steady_state,
        duration,
        volume,
        passes,
        walk,
        overlap,
        end_flush,
        trials,
        pause,
        hang_limit: _,
        objective: _,
        best_of_trials,
    } = spec;
    let shares: Vec<String> = blocks.iter().map(|block| block.share.to_string()).collect();
    let mut words = vec![
        (LoadKey::Pattern, pattern_words(pattern)),
        (LoadKey::Trims, if *trims == Ratio::ZERO { absent("no trims") } else { said(format!("{trims} trims")) }),
        (LoadKey::Blocks, said(shares.join(" + "))),
        (LoadKey::Start, said(format!("from {start} on"))),
        (LoadKey::Files, if *files == 1 { absent("1 file") } else { said(format!("{files} files")) }),
        (
            LoadKey::Walk,
            match walk {
                Walk::Onward => absent("onward"),
                Walk::Again => said("the same blocks again"),
                Walk::Back => said("backward"),
            },
        ),
        (LoadKey::Overlap, switch(*overlap, "threads over the same blocks", "a stretch for each thread")),
        (LoadKey::EndFlush, switch(*end_flush, "flushed at the end", "not flushed at the end")),
        (LoadKey::Compressible, said(format!("{} compressible", content.compressible))),
        (LoadKey::Duplicate, said(format!("{} duplicate", content.duplicate))),
        (LoadKey::Verify, switch(*verify, "verified", "not verified")),
        (LoadKey::DropCaches, switch(*drop_caches, "caches dropped", "caches kept")),
        (LoadKey::WarmUp, lasting("warm-up", *warm_up)),
        (LoadKey::CoolDown, lasting("cool-down", *cool_down)),
        (LoadKey::Duration, said(format!("for {}", seconds(duration.as_ns())))),
        (
            LoadKey::Fill,
            said(match fill {
                Fill::Auto => "filled where that is wanted",
                Fill::Always => "filled",
                Fill::Never => "not filled",
                Fill::Hole => "not filled, and no space reserved",
            }),
        ),
        (LoadKey::Trials, said(format!("{trials} trials"))),
        (LoadKey::Pause, lasting("pause", *pause)),
        (LoadKey::BestOfTrials, switch(*best_of_trials, "best of trials", "all trials")),
    ];
    words.extend(size.map(|size| (LoadKey::Size, said(format!("over {size}")))));
    words.extend(size_share.map(|share| (LoadKey::SizeShare, said(format!("over {share} of the target")))));
    words.push((
        LoadKey::Staggered,
        staggered.map_or_else(
            || absent("threads side by side"),
            |staggered| said(format!("threads {} apart", staggered.step)),
        ),
    ));
    words.push((
        LoadKey::InTurn,
        in_turn.map_or_else(
            || absent("files not in turn"),
            |requests| said(format!("files in turn, each {requests} times")),
        ),
    ));
    words.push((LoadKey::Continued, said(format!("{continued} going on from the last"))));
    words.push((
        LoadKey::Zones,
        zones.map_or_else(
            || absent("no zones"),
            |zones| said(format!("zones of {} and gaps of {}", zones.size, zones.skip)),
        ),
    ));
    words.extend(align.map(|align| (LoadKey::Align, said(format!("aligned to {align}")))));
    words.extend(flush.map(|FlushCadence { every, how }| {
        let how = match how {
            FlushMethod::Fdatasync => "fdatasync",
            FlushMethod::Fua => "FUA",
        };
        (LoadKey::Flush, said(format!("{how} every {every}")))
    }));
    if let Arrival::Closed { rate_max, think_time, .. } = arrival {
        words.extend(rate_max.map(|rate| (LoadKey::RateMax, said(format!("at most {rate}")))));
        words.push((LoadKey::ThinkTime, said(format!("think {think_time}"))));
    }
    words.extend(volume.map(|volume| (LoadKey::Volume, said(format!("{volume} of it")))));
    words.extend(passes.map(|passes| {
        (LoadKey::Passes, said(if passes == 1 { "1 pass".to_owned() } else { format!("{passes} passes") }))
    }));
    words.extend(steady_state.map(|rule| (LoadKey::SteadyState, steady_state_words(&rule))));
    words.extend(name.as_ref().map(|name| (LoadKey::Name, said(name.as_str()))));
    words
}

/// Where requests of a pattern fall.
fn pattern_words(pattern: &Pattern) -> KeyWords {
    match pattern {
        Pattern::Random(Distribution::Uniform) => said("uniform"),
        Pattern::Random(Distribution::Permutation) => said("each block once"),
        Pattern::Random(Distribution::Covering) => said("each byte once"),
        Pattern::Random(Distribution::Zipf { theta_milli }) => said(format!("zipf {}", f64::from(*theta_milli) / 1e3)),
        Pattern::Random(Distribution::HotCold { requests, blocks }) => said(format!("{requests} to {blocks}")),
        Pattern::Random(Distribution::Pareto { h_milli }) => said(format!("pareto {}", f64::from(*h_milli) / 1e3)),
        Pattern::Random(Distribution::Normal { deviation }) => said(format!("normal {deviation}")),
        Pattern::Random(Distribution::Zoned { zones }) => {
            let zones: Vec<String> = zones.iter().map(|zone| format!("{} to {}", zone.requests, zone.blocks)).collect();
            said(format!("zones {}", zones.join(", ")))
        }
        Pattern::Sequential { stride: None } => absent("no stride"),
        Pattern::Sequential { stride: Some(stride) } => said(format!("stride {stride}")),
    }
}

fn steady_state_words(rule: &SteadyStateRule) -> KeyWords {
    let SteadyStateRule { round, rounds, rounds_max, range, slope } = rule;
    said(format!("once steady, {rounds} rounds of {round} within {range} and {slope}, {rounds_max} at most"))
}

/// A value as it is stored, by the name of its key.
pub(super) fn plainly(key: &LoadKey, value: &Value) -> KeyWords {
    let name = key.name().replace(['_', '.'], " ");
    match value {
        Value::Null | Value::Bool(false) => absent(&format!("no {name}")),
        Value::Bool(true) => said(name),
        Value::String(text) => said(format!("{name} {text}")),
        _ => said(format!("{name} {value}")),
    }
}
