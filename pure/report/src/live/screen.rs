//! The screen: frames, what the user chose and a size in, lines out. What is of most worth comes first; what does not fit is left out whole.

use super::figures::{letter, lines_needed, minute, rows, short, strip};
use super::keys::{LiveState, Order, ScreenOf, VIEWS};
use super::line::{Emphasis, StyledLine, broken, narrow};
use super::{Said, clock, step_words, time};
use super::{crawl, emulation};
use crate::rates::per_second;
use crate::words::throttle::amount;
use loadline_analysis::{Limit, LiveFrame, LiveLimit, LiveProgram, LiveStep, LiveVolume};
use loadline_pipeline::LiveCrawl;
use loadline_units::Duration;

/// Fewer columns than this show lines instead of a screen,
pub const COLUMNS_MIN: usize = 60;
/// and fewer lines.
pub const LINES_MIN: usize = 16;
/// Columns of "HELD BY  ".
const LABEL: usize = 9;
/// Lines of an answer,
const ANSWER_LINES: usize = 2;
/// on a screen of at least so many; on others only what holds has so many.
const HEIGHT_USUAL: usize = 22;
/// In the place of a command without room.
const COMMAND_BY_KEY: &str = "key c prints the command on leaving";
/// Keys that a watch alone has.
const WATCH_KEYS: [&str; 2] = ["m mark", "w report"];
/// Columns of a cell's row beside its label.
const CELL_FIGURES: usize = 46;
/// Devices of the first view.
const DEVICES_SHOWN: usize = 5;
/// Programs of the first view.
const PROGRAMS_SHOWN: usize = 5;

/// What is to be drawn.
#[derive(Debug, Clone, Copy)]
pub struct LiveScreen<'a> {
    /// All that there are, the oldest first.
    pub frames: &'a [LiveFrame],
    /// What the user chose.
    pub state: &'a LiveState,
    /// Columns.
    pub width: usize,
    /// Lines.
    pub height: usize,
    /// Whether blocks may be drawn; else letters of ASCII.
    pub unicode: bool,
}

/// Lines that belong together.
struct Block {
    lines: Vec<StyledLine>,
    /// Whether an empty line comes before it, where there is room.
    apart: bool,
}

impl LiveScreen<'_> {
    /// At most `height` lines, none wider than `width`.
    #[must_use]
    pub fn draw(&self) -> Vec<StyledLine> {
        let end = self
            .state
            .until_ns
            .map_or(self.frames.len(), |at| self.frames.partition_point(|f| f.elapsed_ns <= at).max(1));
        let frames = &self.frames[..end.min(self.frames.len())];
        let Some(frame) = frames.last() else {
            return [StyledLine::plain("nothing was seen yet").cut(self.width)].into_iter().take(self.height).collect();
        };
        let mut lines = vec![self.head(frame)];
        let room = self.height.saturating_sub(1);
        if self.state.shows_help {
            lines.extend(HELP.iter().map(|line| StyledLine::plain(*line)));
        } else {
            let volume = self.volume(frames, frame);
            let blocks = if let Some(of) = frame.crawl.as_ref().filter(|_| self.state.view == 0) {
                lines.extend(self.held(of));
                [crawl::sources(of, self.width), crawl::stations(of), crawl::volumes(&frame.volumes, self.width)]
                    .map(|lines| Block { lines, apart: true })
                    .into()
            } else if let Some(of) = frame.emulation.as_ref().filter(|_| self.state.view == 0) {
                [emulation::rows(frame, of), emulation::faults(of, self.width)]
                    .map(|lines| Block { lines, apart: true })
                    .into()
            } else {
                lines.extend(volume.into_iter().flat_map(|volume| self.answer(frame, volume)));
                self.blocks(frames, frame, volume, room.saturating_sub(lines.len()))
            };
            Self::fill(&mut lines, blocks, room);
        }
        lines.resize(room, StyledLine::default());
        lines.push(self.foot());
        lines.into_iter().map(|line| line.cut(self.width)).take(self.height).collect()
    }

    /// The volumes in the order that the user chose.
    fn ordered<'a>(&self, frame: &'a LiveFrame) -> Vec<&'a LiveVolume> {
        let mut all: Vec<&LiveVolume> = frame.volumes.iter().collect();
        let most = |of: fn(&LiveVolume) -> Option<f64>| {
            move |a: &&LiveVolume, b: &&LiveVolume| of(b).unwrap_or(0.0).total_cmp(&of(a).unwrap_or(0.0))
        };
        match self.state.order {
            Order::Named => {}
            Order::Busy => all.sort_by(most(|volume| volume.busy_share)),
            Order::Rate => all.sort_by(most(|volume| volume.iops)),
        }
        all
    }

    /// The volume that the user chose, or the busiest of the past minute.
    fn volume<'a>(&self, frames: &[LiveFrame], frame: &'a LiveFrame) -> Option<&'a LiveVolume> {
        let all = self.ordered(frame);
        match self.state.volume {
            Some(place) => all.get(place.min(all.len().saturating_sub(1))).copied(),
            None => all.into_iter().rev().max_by(|a, b| work(frames, &a.name).total_cmp(&work(frames, &b.name))),
        }
    }

    fn head(&self, frame: &LiveFrame) -> StyledLine {
        let what = if frame.name.is_empty() { frame.verb.clone() } else { narrow(&frame.name) };
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let latest = self.frames.last().map_or(frame.elapsed_ns, |frame| frame.elapsed_ns);
        let back = latest.saturating_sub(frame.elapsed_ns) / 1_000_000_000;
        let shown = self.state.until_ns.filter(|_| !frame.is_past).map(|_| format!("  FROZEN, {back} s ago"));
        let cpu = frame.machine.cpu_busy_share.map(|share| format!("  CPUs {}", percent(share)));
        let steal = frame.machine.cpu_steal_share.filter(|share| *share >= 0.01);
        let steal = steal.map(|share| format!(", stolen {}", percent(share)));
        let own = frame.own_cpu_share.map(|share| format!("  own {:.1} % of a CPU", share * 100.0));
        let mut line =
            StyledLine::default().then(Emphasis::Strong, what.chars().take(self.width / 2).collect::<String>());
        let items = crawl::items(frame).map(|items| format!("  {items}"));
        for part in [Some(format!("  {}", time(frame))), shown, items, cpu, steal, own].into_iter().flatten() {
            if line.width() + part.chars().count() <= self.width {
                line = line.then(Emphasis::Plain, part);
            }
        }
        line
    }

    /// What bound the sources of a crawl so far.
    fn held(&self, of: &LiveCrawl) -> Vec<StyledLine> {
        let (all, is_judged) = (crawl::held_by(of), of.judged_ns > 0);
        let emphasis = if is_judged { Emphasis::Alarm } else { Emphasis::Plain };
        let label = |place: usize| if place == 0 { "HELD BY" } else { "" };
        let of_each = all.iter().take(ANSWER_LINES).enumerate();
        let mut lines: Vec<StyledLine> =
            of_each.flat_map(|(place, text)| self.labelled(label(place), text, emphasis, ANSWER_LINES)).collect();
        if is_judged {
            let text = "presumed: replayed from what was seen so far; the end judges all of it";
            lines.extend(self.labelled("SURE", text, Emphasis::Plain, 1));
        }
        lines
    }

    /// What holds the volume, how sure that is, and what to do.
    fn answer(&self, frame: &LiveFrame, volume: &LiveVolume) -> Vec<StyledLine> {
        let said = Said::of(frame, volume);
        let most = if self.height >= HEIGHT_USUAL { ANSWER_LINES } else { 1 };
        let name = if frame.volumes.len() > 1 { format!("{}: ", narrow(&volume.name)) } else { String::new() };
        let held = volume.judged.as_ref().map_or(Emphasis::Plain, |_| Emphasis::Alarm);
        let mut lines = self.labelled("HELD BY", &format!("{name}{}", said.held_by), held, ANSWER_LINES);
        lines.extend(said.how_sure.iter().flat_map(|sure| self.labelled("SURE", sure, Emphasis::Plain, most)));
        lines.extend(said.next.iter().flat_map(|next| self.labelled("NEXT", next, Emphasis::Plain, most)));
        lines.extend(said.command.iter().flat_map(|command| self.command(command)));
        lines
    }

    /// A command in one piece: a part of it must not be pasted.
    fn command(&self, command: &str) -> Vec<StyledLine> {
        let whole = broken(&narrow(command), self.width.saturating_sub(LABEL), usize::MAX);
        let fits = whole.len() <= ANSWER_LINES && self.height >= HEIGHT_USUAL;
        if fits {
            self.labelled("", command, Emphasis::Strong, ANSWER_LINES)
        } else {
            self.labelled("", COMMAND_BY_KEY, Emphasis::Plain, 1)
        }
    }

    fn labelled(&self, label: &str, text: &str, emphasis: Emphasis, most: usize) -> Vec<StyledLine> {
        let lines = broken(&narrow(text), self.width.saturating_sub(LABEL), most);
        let label = |place: usize| if place == 0 { format!("{label:<LABEL$}") } else { " ".repeat(LABEL) };
        let line = |(place, line)| StyledLine::default().then(Emphasis::Strong, label(place)).then(emphasis, line);
        lines.into_iter().enumerate().map(line).collect()
    }

    /// Puts the blocks in, as far as they fit.
    fn fill(lines: &mut Vec<StyledLine>, blocks: Vec<Block>, room: usize) {
        let needed: usize = blocks.iter().map(|block| block.lines.len()).sum();
        let mut spare = room.saturating_sub(lines.len() + needed);
        for block in blocks {
            if block.lines.is_empty() || lines.len() >= room {
                continue;
            }
            if block.apart && spare > 0 {
                spare -= 1;
                lines.push(StyledLine::default());
            }
            let fits = room - lines.len();
            lines.extend(block.lines.into_iter().take(fits));
        }
    }

    fn blocks(&self, frames: &[LiveFrame], frame: &LiveFrame, volume: Option<&LiveVolume>, room: usize) -> Vec<Block> {
        let apart = |lines| Block { lines, apart: true };
        let close = |lines| Block { lines, apart: false };
        match VIEWS[self.state.view] {
            "devices" => vec![apart(self.devices(frames, &self.ordered(frame), volume))],
            "programs" => vec![apart(Self::programs(frame, frame.programs.len()))],
            "limits" => vec![apart(volume.map_or_else(Vec::new, limits)), apart(volume.map_or_else(Vec::new, causes))],
            "marks" => vec![apart(run_facts(frame)), apart(marks(frame, room))],
            _ => {
                let figures =
                    |lines| volume.map_or_else(Vec::new, |of| rows(frames, &of.name, self.width, lines, self.unicode));
                let shares = volume.map_or_else(Vec::new, |volume| shares(volume, self.width));
                let step: Vec<StyledLine> = frame.step.iter().map(step).collect();
                // The course comes before all that follows; of a run, what is measured has half of the room.
                let taken = step.len() + shares.len();
                let needed = volume.map_or(0, |of| lines_needed(frames, &of.name));
                let beside = (room / 2).min(room.saturating_sub(taken + needed));
                let half = if frame.cells.is_empty() { 0 } else { (frame.cells.len() + 2).min(beside) };
                let figures = figures(room.saturating_sub(taken + half));
                let cells = cells(frame, self.width, room.saturating_sub(taken + figures.len() + 2));
                let at_work = self.ordered(frame).into_iter().filter(|volume| work(frames, &volume.name) > 0.0);
                let at_work: Vec<&LiveVolume> = at_work.take(DEVICES_SHOWN).collect();
                let devices = if at_work.len() > 1 { self.devices(frames, &at_work, volume) } else { Vec::new() };
                vec![
                    close(step),
                    apart(figures),
                    close(shares),
                    apart(cells),
                    apart(devices),
                    apart(Self::programs(frame, PROGRAMS_SHOWN)),
                    apart(run_facts(frame)),
                    apart(marks(frame, 3)),
                ]
            }
        }
    }

    /// Volumes, a line each.
    fn devices(&self, frames: &[LiveFrame], volumes: &[&LiveVolume], chosen: Option<&LiveVolume>) -> Vec<StyledLine> {
        let rate = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), per_second);
        let heading = format!(
            "  {:<12} {:>8} {:>9} {:>9} {:>8} {:>6}  causes",
            "device", "IOPS", "MB/s", "latency", "outst.", "busy"
        );
        let course = self.width.saturating_sub(62).min(60);
        let mut lines = vec![StyledLine::default().then(Emphasis::Faint, heading)];
        lines.extend(volumes.iter().map(|volume| {
            let latency = volume.p99_ns.or(volume.latency_ns);
            let latency = latency.map_or_else(|| "-".to_owned(), |ns| Duration::from_ns(ns).human());
            let outstanding = volume.outstanding.map_or_else(|| "-".to_owned(), |of| format!("{of:.1}"));
            let busy = volume.busy_share.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0));
            let is_chosen = chosen.is_some_and(|chosen| chosen.name == volume.name);
            let name: String = narrow(&volume.name).chars().take(12).collect();
            let text = format!(
                "{} {name:<12} {:>8} {:>9} {latency:>9} {outstanding:>8} {busy:>6}  ",
                if is_chosen { '>' } else { ' ' },
                rate(volume.iops),
                rate(volume.throughput_bytes_per_s.map(|bytes| bytes / 1e6)),
            );
            let emphasis = if is_chosen { Emphasis::Strong } else { Emphasis::Plain };
            let strip = strip(frames, &volume.name, course).unwrap_or_default();
            StyledLine::default().then(emphasis, text).then(Emphasis::Plain, strip)
        }));
        lines
    }

    fn programs(frame: &LiveFrame, most: usize) -> Vec<StyledLine> {
        if frame.programs.is_empty() || most == 0 {
            return Vec::new();
        }
        let heading = format!(
            "{:<20} {:>8} {:>11} {:>12} {:>6} {:>8}",
            "program", "pid", "reads MB/s", "writes MB/s", "CPUs", "blocked"
        );
        let mut lines = vec![StyledLine::default().then(Emphasis::Faint, heading)];
        lines.extend(frame.programs.iter().take(most).map(|program| {
            let LiveProgram { name, pid, processes, read_bytes_per_s, write_bytes_per_s, cpus, blocked } = program;
            let several = if *processes > 1 { format!(" x{processes}") } else { String::new() };
            let name: String = narrow(name).chars().take(20 - several.len().min(8)).collect();
            StyledLine::plain(format!(
                "{:<20} {pid:>8} {:>11.1} {:>12.1} {cpus:>6.2} {blocked:>8.1}",
                format!("{name}{several}"),
                read_bytes_per_s / 1e6,
                write_bytes_per_s / 1e6,
            ))
        }));
        lines
    }

    fn foot(&self) -> StyledLine {
        if let Some(note) = &self.state.note {
            let shown: String = narrow(note).chars().take(self.width.saturating_sub(40)).collect();
            return StyledLine::default()
                .then(Emphasis::Strong, format!("note: {shown}_   Enter keeps it, Esc drops it"));
        }
        if let Some(hint) = self.state.hint {
            return StyledLine::default().then(Emphasis::Strong, hint);
        }
        let end = if self.state.of == ScreenOf::Attached { "q leave" } else { "q end" };
        let keys =
            [end, "? help", "Tab view", "t/T time", "space freeze", "m mark", "c command", "w report", "o order"];
        let mut line = StyledLine::default();
        for key in keys.into_iter().filter(|key| self.state.of != ScreenOf::Work || !WATCH_KEYS.contains(key)) {
            if line.width() + 2 + key.len() <= self.width {
                let gap = if line.width() > 0 { "  " } else { "" };
                line = line.then(Emphasis::Faint, format!("{gap}{key}"));
            }
        }
        line
    }
}

/// What a volume had to do in the past minute.
fn work(frames: &[LiveFrame], name: &str) -> f64 {
    let own = minute(frames).iter().flat_map(|frame| &frame.volumes).filter(|volume| volume.name == name);
    own.map(|volume| volume.busy_share.or(volume.iops).unwrap_or(0.0)).sum()
}

/// What the keys do.
const HELP: [&str; 14] = [
    "q        end; what was seen is kept, and the verdict is printed",
    "Tab 1-5  view: now, devices, programs, limits, marks",
    "arrows   another device",
    "t T      10 s back, 10 s forth",
    "space    freeze, and go on; what happens meanwhile is stored all the same",
    "m        mark this moment with a note, which is stored with the run",
    "w        write a report when this ends",
    "c        print the next command on leaving",
    "o        order of devices: as named, busiest first, most requests first",
    "? Esc    this help",
    "",
    "HELD BY is judged over the past minute by the rules of the stored verdict.",
    "Latency is a mean of the kernel's counters, unless p99 stands beside it.",
    "No key makes load, sets a limit or injects a fault.",
];

/// What the judged time went to, in a line.
fn shares(volume: &LiveVolume, width: usize) -> Vec<StyledLine> {
    let all: f64 = volume.causes.iter().map(|cause| cause.seconds).sum();
    let mut text = String::new();
    for cause in &volume.causes {
        let share = cause.seconds / all.max(1e-9);
        let part = format!("{} {} {:.0} %", letter(&cause.cause), short(&cause.cause), share * 100.0);
        if share >= 0.01 && text.chars().count() + 2 + part.chars().count() <= width {
            text.push_str(if text.is_empty() { "" } else { "  " });
            text.push_str(&part);
        }
    }
    let above = volume.judged.as_ref().and_then(|judged| judged.latency.as_ref()).and_then(|wait| wait.application_ns);
    if let Some(ns) = above {
        let part = format!("  latency above the device: {} each", Duration::from_ns(ns as u64).human());
        if text.chars().count() + part.chars().count() <= width {
            text.push_str(&part);
        }
    }
    if text.is_empty() { Vec::new() } else { vec![StyledLine::plain(text)] }
}

/// Each cause with its seconds.
fn causes(volume: &LiveVolume) -> Vec<StyledLine> {
    let mut lines = vec![StyledLine::default().then(Emphasis::Faint, "    seconds  what the judged time went to")];
    lines.extend(volume.causes.iter().map(|cause| {
        let text = narrow(&crate::words::watch::cause(&cause.cause));
        StyledLine::plain(format!("{}  {:>8.1}  {text}", letter(&cause.cause), cause.seconds))
    }));
    lines
}

/// Each known limit with what is asked for of it.
fn limits(volume: &LiveVolume) -> Vec<StyledLine> {
    let mut lines = vec![StyledLine::default().then(Emphasis::Faint, "asked for  of a known limit")];
    if volume.limits.is_empty() {
        lines
            .push(StyledLine::plain("        -  none is known: an environment declares what the storage is sold with"));
    }
    lines.extend(volume.limits.iter().map(|limit| {
        let (share, text) = match limit {
            LiveLimit::Throttle { throttle, asked_share } => {
                (asked_share, format!("throttle of {}: {}", narrow(&throttle.group), amount(throttle)))
            }
            LiveLimit::Declared { limit, iops, asked_share } => {
                (asked_share, format!("{}: {} IOPS for this load", limit.name(), per_second(*iops)))
            }
        };
        let share = share.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0));
        StyledLine::plain(format!("{share:>9}  {text}"))
    }));
    lines
}

/// How far a run, an application's work or a trace is.
fn run_facts(frame: &LiveFrame) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    if let Some(trace) = frame.trace {
        lines.push(StyledLine::plain(format!(
            "trace: {} requests in {:.1} MB, {} events lost",
            trace.requests,
            trace.bytes as f64 / 1e6,
            trace.events_lost
        )));
    }
    lines
}

/// The trial that is under way.
fn step(step: &LiveStep) -> StyledLine {
    StyledLine::default()
        .then(Emphasis::Strong, format!("{:<LABEL$}", "TRIAL"))
        .then(Emphasis::Plain, narrow(&step_words(step)))
}

/// Cells that have figures, the latest last, in at most so many lines.
fn cells(frame: &LiveFrame, width: usize, lines: usize) -> Vec<StyledLine> {
    let room = lines.saturating_sub(1).min(frame.cells.len());
    if room == 0 {
        return Vec::new();
    }
    let label = width.saturating_sub(CELL_FIGURES).clamp(16, 60);
    let before = frame.cells_done - room.min(frame.cells_done);
    let heading = if before > 0 { format!("measured, after {before} others") } else { "measured".to_owned() };
    let heading = format!("{heading:<label$} {:>9} {:>8} {:>8}  limit [doubts]", "IOPS", "p50", "p99");
    let mut all = vec![StyledLine::default().then(Emphasis::Faint, heading)];
    all.extend(frame.cells[frame.cells.len() - room..].iter().map(|cell| {
        let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| Duration::from_ns(ns).human());
        let name: String = narrow(&cell.label).chars().take(label).collect();
        let (iops, p50, p99) = (per_second(cell.iops), time(cell.p50_ns), time(cell.p99_ns));
        let line = StyledLine::plain(format!("{name:<label$} {iops:>9} {p50:>8} {p99:>8}  "))
            .then(Emphasis::Strong, cell.limit.map_or("-", Limit::name));
        let codes: Vec<&str> = cell.doubts.iter().map(|code| code.name()).collect();
        let all = format!(" [{}]", codes.join(", "));
        match codes.len() {
            0 => line,
            _ if line.width() + all.len() <= width => line.then(Emphasis::Plain, all),
            several => line.then(Emphasis::Plain, format!(" [{several}]")),
        }
    }));
    all
}

/// The latest marks, at most so many lines.
fn marks(frame: &LiveFrame, most: usize) -> Vec<StyledLine> {
    let latest = frame.marks.iter().rev().take(most).rev();
    latest.map(|mark| StyledLine::plain(format!("mark {}  {}", clock(mark.elapsed_ns), narrow(&mark.note)))).collect()
}
