//! `live --at`: the screen of what was stored at a time.

use super::{Frames, has_screen, json_to};
use crate::arguments::live::AttachArguments;
use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::output;
use crate::stored::watch_usage;
use anyhow::Context as _;
use loadline_analysis::{LIVE_WINDOW_S, LiveFrame, past_frames};
use loadline_report::live::{LiveState, live_json, live_lines};
use loadline_runs::watch::StoredWatch;
use loadline_store::Store;
use loadline_units::TypedTime;
use std::io::Write as _;
use std::time::Duration;

/// How far the keys go back and forth from the time that was asked for, s.
const AROUND_S: u64 = 300;
/// Between two looks at whether the user wants to leave.
const LOOK: Duration = Duration::from_millis(50);

/// Shows what was stored at a time. A minute that was typed is shown as its last moment: that is judged by all of it.
pub(crate) fn show(arguments: &AttachArguments, at: TypedTime, quiet: bool, store: &Store) -> anyhow::Result<Outcome> {
    let run = arguments.run.as_deref().map(|typed| store.resolve(typed)).transpose()?;
    let watch = StoredWatch::find(store, run.as_deref(), Some(at)).map_err(watch_usage)?;
    let begin = watch.time(at).map_err(watch_usage)?;
    let shown = begin + at.length_s().min(LIVE_WINDOW_S as u64);
    let (since, until) = (begin.saturating_sub(AROUND_S), shown + AROUND_S);
    let record = watch.between(store, since.saturating_sub(LIVE_WINDOW_S as u64), until).map_err(watch_usage)?;
    let is_on_screen = has_screen(quiet, arguments.options.lines) && !arguments.options.takes_output();
    let (since, until) = if is_on_screen { (since, until) } else { (begin, shown) };
    let frames = past_frames(&record, since, until);
    let Some(asked) = frames.iter().rev().find(|frame| frame.at_unix_ms <= shown * 1_000) else {
        return Err(Usage(
            "nothing was watched at that time; `loadline show --incidents` shows when what held".to_owned(),
        )
        .into());
    };
    if let Some(path) = &arguments.options.live {
        let mut json = json_to(path)?;
        for frame in frames.iter().filter(|frame| (begin * 1_000..=shown * 1_000).contains(&frame.at_unix_ms)) {
            writeln!(json, "{}", live_json(frame)).context("--live")?;
        }
    }
    if is_on_screen {
        on_screen(&frames, asked)?;
    } else if !arguments.options.takes_output() {
        output::print(&(live_lines(asked).join("\n") + "\n"))?;
    }
    Ok(Outcome::Done)
}

fn on_screen(frames: &[LiveFrame], asked: &LiveFrame) -> anyhow::Result<()> {
    let interruption = Interruption::watch()?;
    let mut shown = Frames::new(false, false, &interruption, LiveState::at(asked.elapsed_ns));
    for frame in frames {
        shown.show(frame);
    }
    shown.latest = Some(asked.clone());
    while !interruption.asked() {
        std::thread::sleep(LOOK);
    }
    shown.close();
    shown.print_command()
}
