//! `watch`: what others ask of storage, and what limits them.

use crate::arguments::watch::WatchArguments;
use crate::conclusion::conclude;
use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::recommendations::summarized;
use crate::screen::{Screen, cut};
use crate::{environments, output, output_file};
use loadline_record::{ThrottledQuantity, ThrottledRequests, WatchTick};
use loadline_report::rates::{megabytes_per_s, per_second};
use loadline_runs::watch::{DeviceView, ProgramView, Watch, WatchSettings, WatchView};
use loadline_runs::{DeclaredEnvironment, Error, Event, Observer, RunOptions, catalog_with};
use loadline_units::Duration;
use std::path::PathBuf;

/// Watches, prints, and stores what was seen.
pub(crate) fn watch(
    arguments: &WatchArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let report = arguments.report.as_deref().map(|path| output_file::report(path, arguments.force)).transpose()?;
    let environment = match &arguments.env {
        Some(typed) => {
            let catalog = catalog_with(arguments.own.catalog.as_deref())?;
            Some(DeclaredEnvironment::new(environments::read(typed, &catalog)?))
        }
        None => None,
    };
    let settings = WatchSettings { duration: arguments.duration, events: arguments.events, environment };
    let options = RunOptions { name: arguments.name.clone(), seed: Some(0), store: Some(store()?) };
    let watch = Watch::prepare(arguments.target.as_deref(), settings, options).map_err(|error| match error {
        Error::Watch(error) => anyhow::Error::from(Usage(error.to_string())),
        error => error.into(),
    })?;
    let interruption = Interruption::watch()?;
    if !quiet {
        let devices: Vec<&str> = watch.target().devices().collect();
        let how_long = arguments.duration.map_or_else(
            || "until Ctrl-C".to_owned(),
            |duration| format!("for {}; Ctrl-C ends it earlier and keeps what was seen", duration.human()),
        );
        output::tell(&format!("watching {} {how_long}", devices.join(", ")));
    }
    let mut eyes = Eyes { screen: Screen::new(quiet), interruption };
    let outcome = watch.run(&mut eyes);
    eyes.screen.clear();
    let outcome = outcome?;
    // Before anything is printed: that may end with a closed output.
    if let Some(report) = &report {
        let page = loadline_report::html(&[(&outcome.record, &summarized(&outcome.record))]);
        output_file::write(report, output_file::marked(&page))?;
    }
    conclude(&outcome, arguments.printing.format)
}

/// Follows a watch on a terminal.
struct Eyes {
    screen: Screen,
    interruption: Interruption,
}

impl Observer for Eyes {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Watched(view) = event {
            self.screen.show(|width, height| lines(view, width, height));
        }
    }
    fn wants_an_end(&self) -> bool {
        self.interruption.asked()
    }
}

/// Stands over the programs: why their figures may be larger than those of the device.
const PROGRAMS: &str = "  programs, over all devices; writes count when they enter the page cache:";

/// The lines of a terminal so wide and high.
fn lines(view: &WatchView, width: usize, height: usize) -> Vec<String> {
    let mut lines = vec![heading(view)];
    for device in &view.devices {
        lines.push(device_line(device));
        lines.extend(device.throttles.iter().map(throttle_line));
    }
    if !view.programs.is_empty() {
        lines.push(PROGRAMS.to_owned());
    }
    lines.extend(view.programs.iter().map(program_line));
    // The last line is the cursor's.
    lines.truncate(height.saturating_sub(1).max(1));
    lines.iter().map(|line| cut(line, width)).collect()
}

fn heading(view: &WatchView) -> String {
    let planned = view.planned.map_or_else(String::new, |planned| format!(" of {}", planned.clock()));
    let cpu = view.machine.cpu.map_or_else(String::new, |cpu| {
        let steal =
            if cpu.steal_ppm >= 10_000 { format!(", {} % stolen", cpu.steal_ppm / 10_000) } else { String::new() };
        format!("  CPUs {} % busy{steal}", cpu.busy_ppm / 10_000)
    });
    format!("{}{planned}{cpu}  watching takes {:.2} % of a CPU", view.elapsed.clock(), view.own_share * 100.0)
}

fn device_line(device: &DeviceView) -> String {
    let tick = device.tick;
    let rate = |count: u64| count as f64 * 1e6 / tick.elapsed_us.max(1) as f64;
    format!(
        "{:<10} {:>8} reads/s {:>8} writes/s {:>9}  {:>9} each  {:>10}  {:>6.1} outstanding  {:>3.0} % busy",
        device.name,
        per_second(rate(tick.reads)),
        per_second(rate(tick.writes)),
        megabytes_per_s(rate(tick.bytes())),
        size(tick),
        latency(tick),
        tick.outstanding(),
        tick.busy() * 100.0
    )
}

/// The mean size of a request.
fn size(tick: WatchTick) -> String {
    match tick.requests() {
        0 => "-".to_owned(),
        requests => format!("{:.1} KiB", tick.bytes() as f64 / requests as f64 / 1024.0),
    }
}

/// The mean time of a request.
fn latency(tick: WatchTick) -> String {
    match tick.requests() {
        0 => "-".to_owned(),
        requests => Duration::from_us((tick.read_ms + tick.write_ms) * 1_000 / requests).human(),
    }
}

fn throttle_line((throttle, share): &(loadline_record::WatchedThrottle, Option<f64>)) -> String {
    let limit = &throttle.limit;
    let requests = match limit.requests {
        ThrottledRequests::Reads => "reads",
        ThrottledRequests::Writes => "writes",
    };
    let amount = match limit.counts {
        ThrottledQuantity::Requests => format!("{} {requests}/s", per_second(limit.per_s as f64)),
        ThrottledQuantity::Bytes => format!("{} of {requests}", megabytes_per_s(limit.per_s as f64)),
    };
    let share = share.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0));
    format!("  throttle of {}: {amount}, {share} asked for; what waits there is not in the time of each", limit.group)
}

fn program_line(program: &ProgramView) -> String {
    let several = if program.processes > 1 { format!(" x{}", program.processes) } else { String::new() };
    format!(
        "  {} ({}){several}: reads {}, writes {}, {:.2} CPUs",
        program.name,
        program.pid,
        megabytes_per_s(program.read_bytes_per_s),
        megabytes_per_s(program.write_bytes_per_s),
        program.cpus
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_fits_on_its_terminal() {
        let tick = WatchTick {
            elapsed_us: 1_000_000,
            reads: 1_000,
            read_bytes: 4_096_000,
            read_ms: 2_000,
            busy_ms: 900,
            ..WatchTick::default()
        };
        let device = DeviceView { name: "vda".into(), tick, throttles: Vec::new() };
        let view = WatchView { devices: vec![device; 40], ..WatchView::default() };
        let all = lines(&view, 60, 10);
        assert_eq!(all.len(), 9);
        assert!(all.iter().all(|line| line.chars().count() < 60), "{all:?}");
        let program = ProgramView {
            name: "db".into(),
            pid: 7,
            processes: 1,
            read_bytes_per_s: 1e6,
            write_bytes_per_s: 0.0,
            cpus: 0.1,
        };
        let of_programs = lines(&WatchView { programs: vec![program], ..WatchView::default() }, 100, 10);
        assert!(of_programs[1].contains("over all devices") && of_programs[2].contains("db (7)"), "{of_programs:?}");
        let line = device_line(&view.devices[0]);
        for part in ["1,000 reads/s", "4.0 KiB each", "2.00 ms", "2.0 outstanding", "90 % busy"] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
}
