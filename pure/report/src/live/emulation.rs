//! An emulation as it is now: a row for each volume, bars for what is used up, and faults with the command that clears them.

use super::line::{Emphasis, StyledLine, narrow};
use crate::rates::per_second;
use loadline_analysis::{LiveEmulation, LiveExport, LiveFault, LiveFrame, LiveVolume};
use loadline_emulation::TimeShare;
use loadline_units::Duration;

/// Shares of a volume's time that are shown, the largest first.
const HELD_SHOWN: usize = 2;
/// Columns of a bar.
const BAR: usize = 20;

/// What most of a volume's time goes to.
pub(super) fn held_by(of: &LiveExport) -> String {
    let held = TimeShare::words(&of.held[..of.held.len().min(HELD_SHOWN)]);
    if held.is_empty() { "nothing: no request reached it".to_owned() } else { held }
}

/// A row for each volume, with a bar for each share that is used up or left.
pub(super) fn rows(frame: &LiveFrame, emulation: &LiveEmulation) -> Vec<StyledLine> {
    let heading =
        format!("{:<12} {:>8} {:>8} {:>8} {:>8} {:>6}  state", "volume", "IOPS", "MB/s", "p50", "p99", "queue");
    let mut lines = vec![StyledLine::default().then(Emphasis::Faint, heading)];
    for (volume, of) in frame.volumes.iter().zip(&emulation.exports) {
        lines.push(row(volume, of));
        lines.push(StyledLine::plain(format!("  {:<12} ", "time")).then(Emphasis::Strong, held_by(of)));
        let bars = [("throttled", of.throttled), ("credits left", of.credits), ("cache hits", of.cache_hits)];
        lines.extend(bars.into_iter().filter_map(|(name, share)| Some(bar(name, share?))));
    }
    lines
}

fn row(volume: &LiveVolume, of: &LiveExport) -> StyledLine {
    let rate = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), per_second);
    let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| Duration::from_ns(ns).human());
    let name: String = narrow(&volume.name).chars().take(12).collect();
    let text = format!(
        "{name:<12} {:>8} {:>8} {:>8} {:>8} {:>6.1}  ",
        rate(volume.iops),
        rate(volume.throughput_bytes_per_s.map(|bytes| bytes / 1e6)),
        time(volume.p50_ns),
        time(volume.p99_ns),
        volume.outstanding.unwrap_or(0.0),
    );
    let line = StyledLine::plain(text);
    of.state.iter().fold(line, |line, state| line.then(Emphasis::Alarm, narrow(state)))
}

fn bar(name: &str, share: f64) -> StyledLine {
    let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    let drawn = format!("[{}{}]", "#".repeat(full), ".".repeat(BAR - full));
    StyledLine::plain(format!("  {name:<12} {drawn} {:.0} %", share * 100.0))
}

/// Faults in force, each with what clears it where there is room: a part of a command must not be pasted.
pub(super) fn faults(emulation: &LiveEmulation, width: usize) -> Vec<StyledLine> {
    let lines = |of: &LiveFault| {
        let clears = of.command.as_ref().map(|command| format!("    {}", narrow(command)));
        let shown = clears.filter(|line| line.len() <= width).map(StyledLine::plain);
        let fault = format!("fault {}: {}", of.number, narrow(&of.text));
        [StyledLine::default().then(Emphasis::Alarm, fault)].into_iter().chain(shown)
    };
    emulation.faults.iter().flat_map(lines).collect()
}
