//! `watch`: what others ask of storage, and what limits them.

use crate::arguments::watch::WatchArguments;
use crate::conclusion::conclude;
use crate::failure::{Outcome, Usage};
use crate::frames::Frames;
use crate::interruption::Interruption;
use crate::recommendations::summarized;
use crate::{environments, output, output_file};
use loadline_runs::watch::{Watch, WatchSettings};
use loadline_runs::{DeclaredEnvironment, Error, Event, Observer, RunOptions, catalog_with};
use std::path::{Path, PathBuf};

/// The report that a key asks for.
const REPORT_BY_KEY: &str = "loadline-report.html";

/// Watches, prints, and stores what was seen.
pub(crate) fn watch(
    arguments: &WatchArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let mut report = arguments.report.as_deref().map(|path| output_file::report(path, arguments.force)).transpose()?;
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
    let frames = Frames::open(&arguments.live, quiet, &interruption)?;
    let mut eyes = Eyes { frames, interruption };
    let outcome = watch.run(&mut eyes);
    eyes.frames.close();
    let outcome = outcome?;
    if report.is_none() && eyes.frames.wants_report() {
        report = Some(output_file::report(Path::new(REPORT_BY_KEY), false)?);
    }
    // Before anything is printed: that may end with a closed output.
    if let Some(report) = &report {
        let page = loadline_report::html(&[(&outcome.record, &summarized(&outcome.record))]);
        output_file::write(report, output_file::marked(&page))?;
    }
    if arguments.live.takes_output() {
        return Ok(Outcome::Done);
    }
    let concluded = conclude(&outcome, arguments.printing.format)?;
    eyes.frames.print_command()?;
    Ok(concluded)
}

/// Follows a watch or a recording.
pub(crate) struct Eyes {
    pub(crate) frames: Frames,
    pub(crate) interruption: Interruption,
}

impl Observer for Eyes {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Live(frame) = event {
            self.frames.take(frame);
        }
    }
    fn marks(&mut self) -> Vec<String> {
        self.frames.marks()
    }
    fn wants_an_end(&self) -> bool {
        self.interruption.asked()
    }
}
