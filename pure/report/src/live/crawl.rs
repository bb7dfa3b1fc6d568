//! A crawl as it is now: what bound its sources so far, and what its slots, stations and queues do.

use super::Said;
use super::line::{Emphasis, StyledLine, broken, narrow};
use crate::figures::plain;
use crate::rates::per_second;
use crate::words::crawl::bound;
use loadline_analysis::{LiveFrame, LiveVolume};
use loadline_pipeline::{Bound, LiveCrawl, LiveQueue, LiveShares, LiveSource};
use loadline_units::Duration;

/// Columns of a strip of states, and of a queue.
const STRIP: usize = 12;
const QUEUE: usize = 10;
/// Columns of a source's row before what bound it.
const SOURCE_FIGURES: usize = 62;

/// What is said of each source: what bound it so far.
pub(super) fn said(crawl: &LiveCrawl) -> Vec<Said> {
    let of = |source: &LiveSource| Said {
        volume: plain(&source.name),
        held_by: source.bound.as_ref().map_or_else(too_early, |found| plain(&bound(found, crawl))),
        how_sure: None,
        next: None,
        command: None,
    };
    crawl.sources.iter().map(of).collect()
}

fn too_early() -> String {
    "too early to say: too few items are done".to_owned()
}

/// The sources of each bound together, the most first: "share, web: the index volume".
pub(super) fn held_by(crawl: &LiveCrawl) -> Vec<String> {
    let mut all: Vec<(Option<&Bound>, Vec<&str>)> = Vec::new();
    for source in &crawl.sources {
        match all.iter_mut().find(|(bound, _)| *bound == source.bound.as_ref()) {
            Some((_, names)) => names.push(&source.name),
            None => all.push((source.bound.as_ref(), vec![&source.name])),
        }
    }
    all.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let line = |(found, names): (Option<&Bound>, Vec<&str>)| match found {
        Some(found) => format!("{}: {}", names.join(", "), bound(found, crawl)),
        None => format!("{}: {}", names.join(", "), too_early()),
    };
    all.into_iter().map(line).collect()
}

/// How far all items are: "12,410 items, 49.7 items/s, 112 failed, 4,500 waiting".
pub(super) fn items(frame: &LiveFrame) -> Option<String> {
    let items = frame.items?;
    let rate = match &frame.crawl {
        Some(crawl) => crawl.sources.iter().map(|source| source.items_per_s).sum(),
        None => items.items as f64 * 1e9 / frame.elapsed_ns.max(1) as f64,
    };
    let (done, failed, waiting) =
        (per_second(items.items as f64), per_second(items.failed as f64), per_second(items.waiting as f64));
    Some(format!("{done} items, {} items/s, {failed} failed, {waiting} waiting", per_second(rate)))
}

/// A row for each source: its rate, its slots, latency, what is left, and what bound it so far.
pub(super) fn sources(crawl: &LiveCrawl, width: usize) -> Vec<StyledLine> {
    let heading = format!(
        "{:<12} {:>8}  {:>5} {:<STRIP$} {:>9} {:>8}  held by",
        "source", "items/s", "slots", "what they do", "latency", "left"
    );
    let mut lines = vec![StyledLine::default().then(Emphasis::Faint, heading)];
    lines.extend(crawl.sources.iter().map(|source| {
        let LiveSource { name, items_per_s, slots, states, latency_ns, left, bound: found, .. } = source;
        let name: String = narrow(name).chars().take(12).collect();
        let latency = latency_ns.map_or_else(|| "-".to_owned(), |ns| Duration::from_ns(ns).human());
        let found = found.as_ref().map_or_else(|| "-".to_owned(), |found| narrow(&bound(found, crawl)));
        StyledLine::plain(format!(
            "{name:<12} {:>8}  {slots:>5} {} {latency:>9} {:>8}  ",
            per_second(*items_per_s),
            strip(*states),
            per_second(*left as f64)
        ))
        .then(Emphasis::Strong, broken(&found, width.saturating_sub(SOURCE_FIGURES), 1).concat())
    }));
    lines
}

/// A row for each station: what its workers do, the queue before it, and its rate.
pub(super) fn stations(crawl: &LiveCrawl) -> Vec<StyledLine> {
    let heading = format!(
        "{:<9} {:>7} {:<STRIP$}  {:<20}  {:>8}",
        "station", "workers", "what they do", "queue before it", "a second"
    );
    let mut lines = vec![StyledLine::default().then(Emphasis::Faint, heading)];
    lines.extend(crawl.stations.iter().map(|of| {
        let queue = of.queue.map_or_else(String::new, queue);
        StyledLine::plain(format!(
            "{:<9} {:>7} {}  {queue:<20}  {:>8}",
            of.station.to_string(),
            of.workers,
            strip(of.states),
            per_second(of.passed_per_s)
        ))
    }));
    let epoch = crawl.epoch;
    let (items, most) = (per_second(epoch.items as f64), per_second(epoch.items_max as f64));
    lines.push(
        StyledLine::default()
            .then(Emphasis::Faint, "b on a CPU  w waits  s starved  B blocked  g gated  . longer than 5 s"),
    );
    lines.push(StyledLine::plain(format!("epoch {}: {items} of {most} items", epoch.number)));
    lines
}

/// The volumes in a line, as far as they fit.
pub(super) fn volumes(volumes: &[LiveVolume], width: usize) -> Vec<StyledLine> {
    let mut text = "volumes".to_owned();
    for volume in volumes {
        let latency = volume.latency_ns.map_or_else(String::new, |ns| format!(" {}", Duration::from_ns(ns).human()));
        let busy = volume.busy_share.map_or_else(String::new, |share| format!(" {:.0} %", share * 100.0));
        let iops = per_second(volume.iops.unwrap_or(0.0));
        let part = format!("  {} {iops} IOPS{latency}{busy}", narrow(&volume.name));
        if text.chars().count() + part.chars().count() <= width {
            text.push_str(&part);
        }
    }
    if volumes.is_empty() { Vec::new() } else { vec![StyledLine::plain(text)] }
}

/// What workers do, a letter for each part of their time.
fn strip(states: LiveShares) -> String {
    let LiveShares { cpu, waiting, starved, blocked, gated } = states;
    let (mut text, mut sum) = (String::new(), 0.0);
    for (letter, share) in [('b', cpu), ('w', waiting), ('s', starved), ('B', blocked), ('g', gated)] {
        sum += share;
        let end = (sum * STRIP as f64).round() as usize;
        while text.len() < end.min(STRIP) {
            text.push(letter);
        }
    }
    format!("{text:.<STRIP$}")
}

/// "[#######...] 71/100"
fn queue(queue: LiveQueue) -> String {
    let LiveQueue { items, items_max } = queue;
    let full = (items as f64 / items_max.max(1) as f64 * QUEUE as f64).ceil().clamp(0.0, QUEUE as f64) as usize;
    format!("[{}{}] {items}/{items_max}", "#".repeat(full), ".".repeat(QUEUE - full))
}
