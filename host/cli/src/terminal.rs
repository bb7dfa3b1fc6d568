//! A verb's observer on a terminal: frames are shown, events become sentences, signals ask for an end.

use crate::arguments::{LiveArguments, MetricsArguments, ShownArguments};
use crate::frames::Frames;
use crate::interruption::Interruption;
use crate::metrics::MetricsPage;
use crate::progress_line::ProgressLine;
use crate::recommendations::summarized;
use crate::shell::in_shell;
use crate::{consent, output, words};
use loadline_analysis::{LiveFrame, StandingLimit};
use loadline_block::Operation;
use loadline_exported::Counters;
use loadline_record::{Ending, RunVerb, TargetKind, TrialRecord, VolumeFacts};
use loadline_report::live::ScreenOf;
use loadline_report::rates as figures;
use loadline_report::words as said;
use loadline_runs::{
    Advance, Ahead, Concern, Consent, CrawlCounts, Event, ItemsDone, Observer, PagesFetched, QUICK_FILL_TIME,
    QuickAhead, RunFrames, Unneeded, filling,
};
use loadline_units::{Bytes, Duration};
use std::collections::VecDeque;
use std::path::Path;

/// Standard error and the user's signals.
pub(crate) struct Terminal {
    live: ProgressLine,
    /// What the run is now, and where that is shown.
    frames: Option<(RunFrames, Frames)>,
    /// Counters for those who collect them.
    metrics: Option<MetricsPage<Counters>>,
    /// What was said while the frames had the terminal.
    later: VecDeque<String>,
    interruption: Interruption,
    quiet: bool,
    /// A line for each finished trial.
    lists_trials: bool,
    /// The user says yes to every question beforehand.
    agrees: bool,
}

impl Terminal {
    /// Shows no progress when `quiet`.
    pub(crate) fn new(quiet: bool, interruption: &Interruption) -> Self {
        let interruption = interruption.clone();
        Self {
            live: ProgressLine::new(quiet),
            frames: None,
            later: VecDeque::new(),
            metrics: None,
            interruption,
            quiet,
            lists_trials: false,
            agrees: false,
        }
    }
    /// With frames of this verb, from now until an end is wanted.
    ///
    /// # Errors
    /// The system refuses the handlers; the file of the frames cannot be made; the metrics cannot be served.
    pub(crate) fn following(verb: &RunVerb, options: &LiveArguments, quiet: bool) -> anyhow::Result<Self> {
        Self::showing(verb, &options.shown, quiet)?.counting(&options.metrics)
    }
    /// The same without counters.
    ///
    /// # Errors
    /// The system refuses the handlers; the file of the frames cannot be made.
    pub(crate) fn showing(verb: &RunVerb, options: &ShownArguments, quiet: bool) -> anyhow::Result<Self> {
        let interruption = Interruption::watch()?;
        let of = if *verb == RunVerb::Watch { ScreenOf::Watch } else { ScreenOf::Work };
        let frames = Frames::open(options, quiet, &interruption, of)?;
        let mut terminal = Self::new(quiet, &interruption);
        terminal.frames = Some((RunFrames::new(verb, summarized), frames));
        Ok(terminal)
    }
    /// The same, with counters for those who collect them.
    ///
    /// # Errors
    /// They cannot be served.
    fn counting(mut self, asked: &MetricsArguments) -> anyhow::Result<Self> {
        self.metrics = asked.page(Counters::default(), Counters::page)?;
        if let Some(metrics) = self.metrics.as_ref().filter(|_| !self.quiet) {
            output::tell(&format!("metrics: {}", metrics.url()));
        }
        Ok(self)
    }
    /// Counts what an event says, and what a frame of it shows.
    fn count(&self, event: &Event<'_>, frame: Option<&LiveFrame>) {
        let Some(metrics) = &self.metrics else { return };
        metrics.change(|counters| {
            if let Some(frame) = frame {
                counters.take(frame);
            }
            match event {
                Event::Counted(cells) => {
                    counters.under_way(cells.iter().map(|of| (&*of.volume, &*of.cell, &of.counts)));
                }
                Event::Measured { volume, cell, trial } => counters.measured(volume, cell, trial),
                Event::Crawled(CrawlCounts { sources, stations, queues }) => {
                    counters.crawled(sources, stations, queues);
                }
                _ => {}
            }
        });
    }
    /// The same, of a user who said yes to every question beforehand if `agrees`.
    pub(crate) const fn agreeing(mut self, agrees: bool) -> Self {
        self.agrees = agrees;
        self
    }
    /// A line of progress.
    pub(crate) fn say(&mut self, line: &str) {
        if self.has_screen() {
            self.later.push_back(line.to_owned());
            if self.later.len() > LATER_MAX {
                self.later.pop_front();
            }
        } else {
            self.live.say(line);
        }
    }
    /// Its frames are of an emulation that is stored as this run, and that `loadline fault` reaches there.
    pub(crate) fn emulates(&mut self, run: &str, name: &str, control: Option<&Path>) {
        let clears = |path: &Path| format!("loadline fault {} --clear", in_shell(&path.display().to_string()));
        if let Some((frames, _)) = &mut self.frames {
            frames.emulates(run, name, control.map(clears));
        }
    }
    /// A line that is there with `--quiet`, too.
    pub(crate) fn tell(&mut self, line: &str) {
        if self.has_screen() {
            self.say(line);
        } else {
            self.live.clear();
            output::tell(line);
        }
    }
    fn has_screen(&self) -> bool {
        self.frames.as_ref().is_some_and(|(_, frames)| frames.has_screen())
    }
    /// Takes away what is drawn over until there is more of it, and says what was said meanwhile.
    pub(crate) fn clear(&mut self) {
        self.live.clear();
        if let Some((_, frames)) = &mut self.frames {
            frames.pause();
        }
        for line in std::mem::take(&mut self.later) {
            self.live.say(&line);
        }
    }
    /// The same when the run is over. Returns whether the user wants a report of it.
    pub(crate) fn close(&mut self) -> bool {
        self.clear();
        self.frames.as_mut().is_some_and(|(_, frames)| {
            frames.close();
            frames.wants_report()
        })
    }
    /// Prints the next command, if that was wanted: after everything else.
    pub(crate) fn print_command(&self) -> anyhow::Result<()> {
        self.frames.as_ref().map_or(Ok(()), |(_, frames)| frames.print_command())
    }
    fn draw(&mut self, advance: &Advance<'_>) {
        match *advance {
            // A frame has it. One trial of a search or a hunt in virtual time takes a moment.
            Advance::Device(_) | Advance::Virtual { .. } => {}
            Advance::Trials { done, all, share, elapsed } => {
                self.live.draw_share(&format!("{done} of {all} done"), share, elapsed);
            }
            Advance::Items(_) if self.frames.as_ref().is_some_and(|(_, frames)| frames.are_shown()) => {}
            Advance::Items(ItemsDone { elapsed, items, failed, waiting, .. }) => {
                let seconds = elapsed.as_ns().max(1) as f64 / 1e9;
                let rate = *items as f64 / seconds;
                self.live.draw_line(&format!(
                    "{items} items, {rate:.0} items/s, {failed} failed, {waiting} waiting, {seconds:.0} s"
                ));
            }
            Advance::Fetched(PagesFetched { file, walk, page, waits, done, all, elapsed }) => {
                let waits = waits.map(|span| Duration::from_ns(span.as_nanos() as u64).clock());
                let waits = waits.map_or_else(String::new, |span| format!(", waiting {span}"));
                let walk = if *walk > 1 { format!(", walk {walk}") } else { String::new() };
                let share = *done as f64 / (*all).max(1) as f64;
                self.live.draw_share(&format!("{file}{walk}, page {page}{waits}"), share, *elapsed);
            }
        }
    }
}

impl Observer for Terminal {
    fn event(&mut self, event: &Event<'_>) {
        let frame = self.frames.as_mut().and_then(|(run, _)| run.take(event));
        if let Some(((_, frames), frame)) = self.frames.as_mut().zip(frame.as_ref()) {
            frames.take(frame);
        }
        self.count(event, frame.as_ref());
        match event {
            // A frame has it.
            Event::Begins(_)
            | Event::Planned(_)
            | Event::Forgone(_)
            | Event::Stored(_)
            | Event::Live(_)
            | Event::Counted(_)
            | Event::Measured { .. }
            | Event::Crawled(_)
            | Event::Emulated(_) => {}
            Event::Advances(advance) => self.draw(advance),
            Event::Idle => self.live.clear(),
            Event::TrialFinished { .. } if !self.lists_trials => {}
            Event::RunBegins { ahead, .. } => {
                self.lists_trials = matches!(ahead, Ahead::Measured { .. });
                self.say(&sentence(event));
            }
            Event::QuickBegins(ahead) => {
                self.say(&sentence(event));
                if let Some(warning) = not_storage(ahead.volume) {
                    self.tell(&warning);
                }
            }
            Event::NotFilledFirst { .. } | Event::Standing { .. } if self.quiet => {}
            Event::Standing { .. }
            | Event::SlowToOpen { .. }
            | Event::NotLookedAt { .. }
            | Event::OverwriteUnneeded { .. }
            | Event::NotFilledFirst { .. }
            | Event::LeftOut { .. }
            | Event::LeftoverRemoved { .. }
            | Event::LeftoverFound { .. }
            | Event::NotClosed { .. } => self.tell(&sentence(event)),
            _ => self.say(&sentence(event)),
        }
    }

    fn consents(&mut self, concern: &Concern) -> Consent {
        let answer = consent::answer(concern, self.agrees, consent::has_terminal());
        // A refusal says the same, and what to do; of memory that is measured all the same, the beginning of the run says it.
        let is_said = match concern {
            Concern::Memory(_) => answer.is_none(),
            Concern::InUse(_) => answer != Some(Consent::Withheld),
        };
        self.clear();
        if is_said {
            self.tell(&consent::sentences(concern));
        }
        answer.unwrap_or_else(|| consent::ask(|| self.interruption.asked()))
    }

    fn marks(&mut self) -> Vec<String> {
        self.frames.as_ref().map_or_else(Vec::new, |(_, frames)| frames.marks())
    }

    fn wants_an_end(&self) -> bool {
        self.interruption.asked()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Lines that are kept while frames have the terminal: the latest.
const LATER_MAX: usize = 1_000;
/// Standing limits that are named one by one.
const STANDING_MAX: usize = 5;

/// What stands in the way of the loads, a line each, with what lifts it.
fn standing(limits: &[StandingLimit]) -> String {
    let line = |limit: &StandingLimit| {
        let lift = limit.lifted_by.as_ref().map_or_else(String::new, |command| format!("; {command} lifts it"));
        format!("a limit stands before the load begins: {}{lift}", said::standing(limit))
    };
    let mut lines: Vec<String> = limits.iter().take(STANDING_MAX).map(line).collect();
    let more = limits.len().saturating_sub(STANDING_MAX);
    if more > 0 {
        lines.push(format!("and {more} limits more: `loadline doctor` names what stands on a target"));
    }
    lines.join("\n")
}

/// The machine and the disks that its cloud names, and what their limits are used for.
fn recognised(machine: &str, disks: &[Option<String>], has_limits: bool) -> String {
    let disks: Vec<&str> = disks.iter().map(|disk| disk.as_deref().unwrap_or("a disk of unknown type")).collect();
    let target = match disks.split_first() {
        None => "the target lies on none of its disks".to_owned(),
        Some((first, more)) if more.iter().all(|disk| disk == first) && !more.is_empty() => {
            format!("the target lies on {} x {first}", disks.len())
        }
        Some(_) => format!("the target lies on {}", disks.join(", ")),
    };
    let used = if has_limits {
        "the limits that they were sold with stand beside what is measured"
    } else {
        "the limits that were sold are not known to this run: `loadline environments recognise` writes what the cloud says"
    };
    format!("this machine is {machine}, and {target}: {used}")
}

/// What an event is for people.
fn sentence(event: &Event<'_>) -> String {
    match event {
        // Drawn, or of what other verbs follow.
        Event::Idle
        | Event::Planned(_)
        | Event::Forgone(_)
        | Event::Begins(_)
        | Event::Advances(_)
        | Event::Stored(_)
        | Event::Live(_)
        | Event::Counted(_)
        | Event::Measured { .. }
        | Event::Crawled(_)
        | Event::Emulated(_)
        | Event::InEmulation(_)
        | Event::ClientsRefused { .. }
        | Event::Attached(_) => String::new(),
        Event::RunBegins { run, seed, ahead } => format!("run {run}, seed {seed}: {}", foretold(*ahead)),
        Event::Stopping => "stopping; what is under way is waited for, Ctrl-C once more ends it at once".to_owned(),
        Event::Standing { limits } => standing(limits),
        Event::SlowToOpen { target } => format!("{target} is slow to open; waiting for it"),
        Event::NotLookedAt { volume, error } => {
            format!("volume {volume}: {}; its cells are not checked", words::in_a_line(*error))
        }
        Event::OverwriteUnneeded { word, why } => {
            let why = match why {
                Unneeded::Directory => "in a directory loadline makes a file of its own, and overwrites nothing",
                Unneeded::OnlyRead => "nothing is written to it",
                Unneeded::NoTarget => "it is no target here, and no serial number or UUID that was asked for",
            };
            format!("--overwrite {word} was not needed: {why}")
        }
        Event::NotFilledFirst { volume, target, span } => format!(
            "volume {volume}: {target} is not filled first, since no load reads it. Where blocks of it were never written (a new SSD, \
             a disk that is given its storage as it is written) the first write of each is in the figures: fill = \
             \"always\" in the plan writes all that the loads touch before them, {}",
            filling::in_words(*span)
        ),
        Event::LeftOut { load } => format!("left out, because --read-only forbids writing: {load}"),
        Event::LeftoverRemoved { path } => {
            format!("removed {}, a test file that the run left when it was cut off", path.display())
        }
        Event::LeftoverFound { path, size } => format!(
            "{} ({}) looks like a test file of a run that was killed as it began; if no loadline is at work there, remove it",
            path.display(),
            size.human()
        ),
        Event::Filled { volume, bytes, elapsed } => {
            let rate = bytes.get() as f64 / elapsed.as_s_f64().max(1e-9);
            let rate = figures::megabytes_per_s(rate);
            format!("volume {volume}: filled {} in {}, {rate}", bytes.human(), elapsed.human())
        }
        Event::TrialFinished { place, label, trial } => format!("{place}: {label}: {}", outcome(trial)),
        Event::TrialImpossible { place, label, why } => {
            format!("{place}: {label}: cannot be run: {}", words::in_a_line(*why))
        }
        Event::TrialNotStarted { place, error } => format!("{place}: {}", words::in_a_line(*error)),
        Event::VolumeGivenUp { volume, why, trials } => {
            let trials = if *trials == 1 { "1 trial".to_owned() } else { format!("{trials} trials") };
            format!("volume {volume}: {}; {trials} left out", words::lost(why))
        }
        Event::QuickBegins(ahead) => quick_foretold(ahead),
        Event::Recognised { machine, disks, has_limits } => recognised(machine, disks, *has_limits),
        Event::NotRecognised { error } => {
            format!("{}; the limits that were sold are not known to this run", words::in_a_line(*error))
        }
        Event::NotSettled { error } => format!("{}; measuring goes on", words::in_a_line(*error)),
        Event::Settled { elapsed, complete: true } => {
            format!("what programs wrote before was written back first, which took {}", elapsed.human())
        }
        Event::Settled { elapsed, complete: false } => format!(
            "what programs wrote before is still on its way to the device after {}, and is measured along: for undisturbed figures \
             wait until `sync` ends, and measure again",
            elapsed.human()
        ),
        Event::FilledFirst { bytes, elapsed, reason } => {
            let rate = figures::megabytes_per_s(bytes.get() as f64 / elapsed.as_s_f64().max(1e-9));
            format!("filled {} in {}, {rate} ({reason})", bytes.human(), elapsed.human())
        }
        Event::ReachedAtMost { failed, error, depth } => {
            format!("with {failed} at once {}; the curve rests on what {depth} at once reach", words::in_a_line(*error))
        }
        Event::NothingCompleted { load } => format!(
            "{load}: no request was completed, so nothing is known of its latency, and this search ends here; a longer trial \
             (--duration) may tell"
        ),
        Event::NothingBound => "nothing bound the baseline: there is no ceiling to hunt for".to_owned(),
        Event::RoundOver { round, decided, all } => {
            format!("round {round}: {decided} of {all} settings are decided")
        }
        Event::NotClosed { volume, place } => {
            format!("volume {volume} cannot be closed; what loadline made in {place} may still be there")
        }
    }
}

/// How long what is ahead takes.
fn foretold(ahead: Ahead<'_>) -> String {
    match ahead {
        Ahead::Measured { time, fill: Bytes::ZERO } => format!("{} at most", time.clock()),
        Ahead::Measured { time, fill } => {
            format!("{} at most, and the time to fill {} ({})", time.clock(), fill.human(), filling::in_words(fill))
        }
        Ahead::Searched { loads: 1 } => "1 load to find".to_owned(),
        Ahead::Searched { loads } => format!("{loads} loads to find"),
        Ahead::Hunted { settings, around } => format!("{settings} settings around {around}"),
        Ahead::Modelled { trials, time } => {
            let plural = if trials == 1 { "" } else { "s" };
            format!("{trials} trial{plural}, {} of virtual time at most", time.clock())
        }
        Ahead::Application { what } => what.to_owned(),
    }
}

/// A finished trial in a line: its figures, its doubts.
fn outcome(trial: &TrialRecord) -> String {
    let mut parts = match (trial.iops(), trial.bytes_per_s()) {
        (Some(iops), Some(bytes)) => vec![figures::iops(iops), figures::megabytes_per_s(bytes)],
        _ => vec!["nothing measured".to_owned()],
    };
    for operation in Operation::ALL {
        let Some(record) = trial.of(operation) else { continue };
        if let (Some(p50), Some(p99)) = (record.latency.quantile(0.5), record.latency.quantile(0.99)) {
            parts.push(format!("{} p50 {} p99 {}", operation.name(), p50.human(), p99.human()));
        }
    }
    match &trial.ending {
        Ending::Complete | Ending::Interrupted => {}
        Ending::Failed(how) | Ending::Hung(how) => parts.push(format!("ended early: {how}")),
    }
    let codes: Vec<&str> = trial.doubts.iter().map(|doubt| doubt.code.name()).collect();
    let doubts = if codes.is_empty() { String::new() } else { format!(" [{}]", codes.join(", ")) };
    parts.join(", ") + &doubts
}

/// What a quick measurement does and how long it takes, in a line.
fn quick_foretold(ahead: &QuickAhead<'_>) -> String {
    let QuickAhead { target, volume, size, writable, fills_all, row, loads, measuring } = *ahead;
    let size = size.human();
    let null = volume.kind == TargetKind::Null;
    let fills = writable && !null;
    let (what, time) = match (fills, fills_all) {
        (false, _) if null => ("measures the tool itself".to_owned(), format!("{} in all", measuring.clock())),
        (false, _) => (format!("reads only, over {size}"), format!("{} in all", measuring.clock())),
        (true, true) => (format!("fills {size} first"), format!("{} after the filling", measuring.clock())),
        (true, false) => (
            format!("fills up to {size} first, for at most {}", QUICK_FILL_TIME.clock()),
            format!("{} in all", (QUICK_FILL_TIME + measuring).clock()),
        ),
    };
    let after = if volume.kind == TargetKind::TestFile { "; the test file is removed at the end" } else { "" };
    let more = loads + 1;
    format!("quick on {target}: {what}, then {loads} or {more} loads of {} each, about {time}{after}", row.human())
}

/// What everyone who reads the figures must know first, where the target is no storage or cannot be measured as such.
fn not_storage(facts: &VolumeFacts) -> Option<String> {
    if facts.kind == TargetKind::Null || facts.direct {
        return None;
    }
    Some(match &facts.file_system {
        Some(at) if at.in_memory().is_some() => format!(
            "{} is a {}: this is memory, not storage; the figures say how fast memory is, and nothing about any disk",
            at.mount_point,
            at.in_memory().unwrap_or_default()
        ),
        _ => format!(
            "direct I/O is not possible here ({}): the page cache takes part in every figure",
            facts.direct_reason.as_deref().unwrap_or("the reason is unknown")
        ),
    })
}
