//! Applications that set their own pace, beside each other: the columns of the ranks and the verdict.

use super::letter;
use super::rows::{numbers, ratio, words};
use super::verdict::{COUNT_WORK, best};
use crate::figures::{self, MISSING, plain};
use crate::table::{Column, Field};
use crate::verdict_line::{About, VerdictLine};
use crate::words;
use loadline_analysis::{Against, ApplicationSide, Comparison, Figure, NextStep, RankedSide, Undecided, Verdict};
use loadline_units::words::percent;

/// What a request takes, how much of the time storage is waited for, and what was counted; nothing for other runs.
pub(super) fn columns(comparison: &Comparison) -> Vec<(Column, Vec<Field>)> {
    let sides = &comparison.applications;
    let texts = |text: &dyn Fn(&ApplicationSide) -> Option<String>| -> Vec<String> {
        let of = |ranked: &RankedSide| sides.iter().find(|side| side.side == ranked.side).and_then(text);
        comparison.ranking.iter().map(|ranked| of(ranked).unwrap_or_else(|| MISSING.to_owned())).collect()
    };
    if sides.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![numbers("each takes", 0, texts(&|side| Some(figures::latency(side.waits_ns))))];
    if sides.iter().any(|side| side.storage_share.is_some()) {
        columns.push(numbers("time waited", 0, texts(&|side| side.storage_share.map(percent))));
    }
    if sides.iter().any(|side| side.counted_per_s.is_some()) {
        columns.push(words("counted/s", texts(&|side| side.counted_per_s.map(figures::iops))));
    }
    columns
}

/// The verdict.
pub(super) fn lines(comparison: &Comparison, command: String) -> Vec<VerdictLine> {
    let mut lines = Vec::new();
    if let Some(first) = comparison.ranking.first() {
        let shared: Vec<&RankedSide> = comparison.ranking.iter().filter(|side| side.rank == first.rank).collect();
        lines.push(About::Best.says(best(comparison, &shared)));
    }
    lines.extend(
        comparison
            .against
            .iter()
            .map(|against| About::Side(letter(against.side as usize)).says(change(comparison, against))),
    );
    for side in &comparison.applications {
        let about = format!("{} held by", letter(side.side as usize));
        let by = side.held_by.as_ref().map_or_else(|| "not known".to_owned(), words::holder);
        lines.push(About::subject(about).says(format!("{}: {}", plain(&side.volume), plain(&by))));
    }
    lines.push(About::HowSure.says(how_sure(comparison)));
    let next = match comparison.next_step() {
        NextStep::CountWork => COUNT_WORK,
        _ => "see them side by side",
    };
    lines.push(About::Next.says(next));
    lines.push(About::Command.says(command));
    lines
}

/// "better: 3.35 times what the application counts (199 to 666 a second), 3.3 times the requests, each 0.23 times as long".
fn change(comparison: &Comparison, against: &Against) -> String {
    let [from, to] = [0, against.side as usize].map(|side| &comparison.applications[side]);
    let takes = match [from, to].map(|side| side.is_whole_wait) {
        [true, true] => "each waits",
        [false, false] => "each takes the device",
        [true, false] => "each waits, and then takes the device,",
        [false, true] => "each takes the device, and then waits,",
    };
    let requests = format!(
        "{} times the requests ({} to {} IOPS), {takes} {} times as long ({} to {})",
        ratio(to.iops / from.iops),
        figures::iops(from.iops),
        figures::iops(to.iops),
        ratio(to.waits_ns / from.waits_ns),
        figures::latency(from.waits_ns),
        figures::latency(to.waits_ns)
    );
    let verdict = against.cells.first().map_or(Verdict::CannotTell, |cell| cell.verdict);
    match from.counted_per_s.zip(to.counted_per_s) {
        Some((before, now)) => format!(
            "{}: {} times what the application counts ({} to {} a second); {requests}",
            verdict.words(),
            ratio(now / before),
            figures::iops(before),
            figures::iops(now)
        ),
        None => format!("{}: {requests}", verdict.words()),
    }
}

/// What the verdict rests on.
fn how_sure(comparison: &Comparison) -> String {
    let cells = || comparison.against.iter().flat_map(|against| &against.cells);
    let open: Option<Undecided> = cells().find_map(|cell| cell.undecided);
    if let Some(why) = open {
        return format!("not known: {}", words::undecided(why));
    }
    if cells().any(|cell| cell.figure == Figure::Counted) {
        return "as the application counted, once on each side".to_owned();
    }
    "likely: the requests are of one kind, and the application's own count is not known".to_owned()
}
