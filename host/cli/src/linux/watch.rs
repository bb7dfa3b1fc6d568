//! `watch`: what others ask of storage, and what limits them.

use crate::arguments::watch::WatchArguments;
use crate::conclusion::conclude;
use crate::failure::Outcome;
use crate::recommendations::summarized;
use crate::stored::watch_usage;
use crate::terminal::Terminal;
use crate::{environments, output, output_file};
use loadline_document::unit::{escaped, quoted};
use loadline_record::RunVerb;
use loadline_runs::watch::{Watch, WatchSettings};
use loadline_runs::{DeclaredEnvironment, RunOptions, catalog_with};
use loadline_units::Duration;
use std::path::{Path, PathBuf};

/// The report that a key asks for.
const REPORT_BY_KEY: &str = "loadline-report.html";

/// Watches, prints, and stores what was seen.
pub(crate) fn watch(
    arguments: &WatchArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    if let Some(keep) = arguments.keep.filter(|_| arguments.unit) {
        output::print(&unit(&std::env::current_exe()?, &arguments.target, keep, &std::path::absolute(store()?)?))?;
        return Ok(Outcome::Done);
    }
    let mut report = arguments.report.as_deref().map(|path| output_file::report(path, arguments.force)).transpose()?;
    let environment = match &arguments.env {
        Some(typed) => {
            let catalog = catalog_with(arguments.own.catalog.as_deref())?;
            Some(DeclaredEnvironment::new(environments::read(typed, &catalog)?))
        }
        None => None,
    };
    let WatchArguments { duration, events, keep, .. } = *arguments;
    let settings = WatchSettings { duration, events, environment, keep };
    let options = RunOptions { name: arguments.name.clone(), seed: Some(0), store: Some(store()?) };
    let watch = Watch::prepare(&arguments.target, settings, options).map_err(watch_usage)?;
    let mut terminal = Terminal::following(&RunVerb::Watch, &arguments.live, quiet)?;
    if !quiet {
        let devices: Vec<&str> = watch.target().devices().collect();
        let how_long = arguments.duration.map_or_else(
            || "until Ctrl-C".to_owned(),
            |duration| format!("for {}; Ctrl-C ends it earlier and keeps what was seen", duration.human()),
        );
        if !watch.left_out().is_empty() {
            output::tell(&format!("not watched, for the store lies there: {}", watch.left_out().join(", ")));
        }
        output::tell(&format!("watching {} {how_long}", devices.join(", ")));
    }
    let outcome = watch.run(&mut terminal);
    let wants_report = terminal.close();
    let outcome = outcome?;
    if report.is_none() && wants_report {
        report = Some(output_file::report(Path::new(REPORT_BY_KEY), false)?);
    }
    // Before anything is printed: that may end with a closed output.
    if let Some(report) = &report {
        let page = loadline_report::html(&[(&outcome.record, &summarized(&outcome.record))]);
        output_file::write(report, output_file::marked(&page))?;
    }
    let concluded = conclude(&outcome, arguments.printing.format)?;
    terminal.print_command()?;
    Ok(concluded)
}

/// The systemd unit of a recorder.
fn unit(command: &Path, devices: &[String], keep: Duration, store: &Path) -> String {
    let all = if devices.is_empty() { "every disk".to_owned() } else { devices.join(", ") };
    let named = devices.iter().map(|device| quoted(device)).collect::<Vec<_>>().join(" ");
    let named = if named.is_empty() { named } else { named + " " };
    let path = |path: &Path| quoted(&path.to_string_lossy());
    format!(
        "# /etc/systemd/system/loadline-watch.service\n\
         [Unit]\n\
         Description=loadline: what held {of}\n\
         After=local-fs.target\n\
         RequiresMountsFor={folder}\n\
         \n\
         [Service]\n\
         ExecStart={command} watch {named}--keep {hours}h --quiet --store {store}\n\
         Restart=always\n\
         RestartSec=10\n\
         RestartPreventExitStatus=2\n\
         StandardOutput=null\n\
         IOSchedulingClass=idle\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        of = escaped(&all),
        folder = path(store.parent().unwrap_or(store)),
        command = path(command),
        hours = keep.as_ns().div_ceil(Duration::from_s(3_600).as_ns()),
        store = path(store),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_has_the_devices_and_the_store_as_they_were_named() {
        let devices = ["/dev/vdb".to_owned(), "my db".to_owned()];
        let text =
            unit(Path::new("/usr/bin/loadline"), &devices, Duration::from_s(7 * 86_400), Path::new("/var/50 %/w.db"));
        let command =
            "ExecStart=/usr/bin/loadline watch /dev/vdb \"my db\" --keep 168h --quiet --store \"/var/50 %%/w.db\"";
        for line in [command, "RequiresMountsFor=\"/var/50 %%\"", "Restart=always", "WantedBy=multi-user.target"] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
