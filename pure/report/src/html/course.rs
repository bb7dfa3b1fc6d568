//! Rate, latency and what held it over time: of a watch by the second, of a run with its trials end to end, of a cell.

use super::overview::{drawn, figure, legend};
use super::{CellView, Escaped, Run};
use crate::chart::{Axis, Chart, Hover, Line, LineChart, Mark, Size, Stretch, StripChart};
use crate::figures::{self, plain};
use crate::put;
use crate::remarks;
use crate::rows::limit_name;
use crate::words::watch::cause as watch_cause;
use loadline_analysis::{CourseSecond, LiveMark, WatchCourse, watch_course};
use loadline_block::Operation;
use loadline_record::{
    CellRecord, Clock, Limit, SecondOperation, Series, TrialRecord, WatchCause, WatchRecord, WatchTick,
};
use loadline_units::Bytes;

/// Points of one line in a chart over time at most.
pub(super) const POINTS_MAX: usize = 300;
/// The same on paper, with charts a third as wide as the page.
pub(super) const PAPER_POINTS_MAX: usize = 120;
/// From this block size on, throughput is the better figure than IOPS.
const LARGE_BLOCK: Bytes = Bytes::kib(64);

/// Devices of a watch that are drawn at most.
const DEVICES_MAX: usize = 4;
/// More marks than this are named under the pointer and in their table alone.
const MARKS_NAMED_MAX: usize = 4;
/// Ticks are joined until they are nearly so long.
const WHOLE_US: u64 = 950_000;
/// Stretches of a run in its strip at most: more are no wider than a line.
const STRETCHES_MAX: usize = 200;

/// The course of a run; empty where nothing has seconds.
pub(super) fn of_run(run: &Run<'_>) -> String {
    let mut out = String::new();
    let watched: Vec<WatchCharts> = run.views.iter().filter_map(|view| WatchCharts::of(run, view)).collect();
    if watched.is_empty() {
        end_to_end(&mut out, run);
    }
    for charts in watched.iter().take(DEVICES_MAX) {
        charts.put(&mut out, run.level + 1, watched.len() > 1);
    }
    if let Some(marks) = remarks::marks(&run.summary.run) {
        put!(out, "<h{0}>{1}</h{0}>\n{2}", run.level + 1, remarks::MARKS_HEADING, marks.html());
    }
    out
}

/// What stands beside the verdict of a watch: the rate of the device that it is about, and what held it. Empty of other runs.
pub(super) fn of_watch(run: &Run<'_>) -> String {
    let mut out = String::new();
    let about = run.summary.verdict.iter().flat_map(|verdict| &verdict.volumes).next();
    let view = run.views.iter().find(|view| about.is_none_or(|about| about.cell == view.summary.id));
    if let Some(WatchCharts { rate, strip, causes, blank, .. }) = view.and_then(|view| WatchCharts::of(run, view)) {
        let lead = |id: &str| format!("{id}-lead");
        let rate = LineChart { id: lead(&rate.id), size: Size::Lead, ..rate };
        let strip = StripChart { id: lead(&strip.id), size: Size::Lead, ..strip };
        drawn(&mut out, Size::Lead, "IOPS over time, and what held it", &(rate.svg() + &strip.svg()), &blank);
        legend(&mut out, &causes);
    }
    out
}

/// Whether a cell was watched, not loaded.
pub(super) fn is_watched(view: &CellView<'_>) -> bool {
    view.record.is_some_and(|cell| cell.trials.last().is_some_and(|trial| trial.watched.is_some()))
}

/// The charts of one watched device.
struct WatchCharts {
    device: String,
    rate: LineChart,
    latency: LineChart,
    strip: StripChart,
    /// Names and colours of the strip.
    causes: Vec<(String, usize)>,
    /// What the blank part of it is.
    blank: String,
}

impl WatchCharts {
    /// Of a cell; `None`: it was not watched, or for less than two seconds.
    fn of(run: &Run<'_>, view: &CellView<'_>) -> Option<Self> {
        let cell = view.record?;
        let course = watch_course(cell, &run.record.cells)?;
        let (id, device) = (run.cell_anchor(view.index), plain(&view.summary.volume));
        // Looks at processes may be rare. The device was looked at ten times a second.
        let seconds = cell.trials.last()?.watched.as_deref().map(whole_seconds).filter(|all| all.len() >= 2)?;
        let ends = ends_s(course.seconds.iter().map(|second| second.tick));
        let end = ends.last().copied().unwrap_or(1.0);
        let x = Axis { high: end, ..Axis::linear("seconds", figures::tick, std::iter::once(end)) };
        let at_s = ends_s(seconds.iter().copied());
        let points = |of: fn(WatchTick) -> Option<f64>| {
            let all = at_s.iter().zip(&seconds).map(|(at_s, tick)| (*at_s, of(*tick).unwrap_or(f64::NAN)));
            thinned(all.collect(), POINTS_MAX)
        };
        let per_s = |tick: WatchTick| Some(tick.requests() as f64 * 1e6 / tick.elapsed_us.max(1) as f64);
        let rate = points(per_s);
        let y = Axis::linear("IOPS", figures::tick, rate.iter().map(|point| point.1));
        let marks = marks(run, cell.trials.last()?.watched.as_deref()?);
        let chart = |what: &str, title: &str, y: Axis, lines: Vec<Line>, hover: &'static str| LineChart {
            id: format!("{id}-{what}"),
            title: format!("{title}: {device}"),
            description: format!("{} over {} seconds.", title, figures::tick(end.round())),
            x: x.clone(),
            y,
            lines,
            references: Vec::new(),
            separators: Vec::new(),
            marks: marks.clone(),
            size: Size::Wide,
            names: false,
            hover: Some(Hover { x: "s", y: hover }),
        };
        let kinds: [(&str, Vec<(f64, f64)>); 3] = [
            ("read", points(|tick| mean_ns(tick.reads, tick.read_ms))),
            ("write", points(|tick| mean_ns(tick.writes, tick.write_ms))),
            ("flush", points(|tick| mean_ns(tick.flushes, tick.flush_ms))),
        ];
        let seen = kinds.into_iter().filter(|(_, points)| points.iter().any(|point| point.1.is_finite()));
        let lines: Vec<Line> =
            seen.enumerate().map(|(style, (name, points))| Line::bare(name.to_owned(), style, points)).collect();
        let values = lines.iter().flat_map(|line| line.points.values()).map(|point| point.1);
        let latency_y = Axis::logarithmic("mean latency", figures::latency_tick, values);
        let (styles, causes, blank) = coloured(&course);
        Some(Self {
            rate: chart("rate", "IOPS over time", y.clone(), vec![Line::bare("rate".to_owned(), 0, rate)], "IOPS"),
            latency: chart("late", "Latency over time", latency_y, lines, "ns"),
            strip: StripChart {
                id: format!("{id}-held"),
                title: format!("What held {device} over time"),
                description: causes.iter().map(|cause| cause.0.clone()).collect::<Vec<_>>().join("; "),
                x,
                stretches: stretches(&course, &ends, &styles),
                size: Size::Wide,
                below: Some(y),
            },
            device,
            causes,
            blank,
        })
    }

    fn put(&self, out: &mut String, level: usize, is_one_of_several: bool) {
        if is_one_of_several {
            put!(out, "<h{level}>{}</h{level}>\n", Escaped(&self.device));
        }
        figure(out, Size::Wide, "IOPS over time", &self.rate, "");
        figure(out, Size::Wide, "Mean latency over time, as the device takes", &self.latency, "");
        legend(out, &self.latency.lines.iter().map(|line| (line.name.clone(), line.style)).collect::<Vec<_>>());
        figure(out, Size::Wide, "What held it, second by second", &self.strip, &self.blank);
        legend(out, &self.causes);
    }
}

/// Moments that the user marked, as far along as the chart has them: times without a sample are no part of it.
fn marks(run: &Run<'_>, watch: &WatchRecord) -> Vec<Mark> {
    let marks = &run.summary.run.marks;
    let spans = watch.spans_us();
    let along =
        |elapsed_us: u64| -> u64 { spans.iter().map(|span| elapsed_us.clamp(span.start, span.end) - span.start).sum() };
    let mark = |mark: &LiveMark| Mark {
        x: along(mark.elapsed_ns / 1_000) as f64 / 1e6,
        label: format!("{}: {}", remarks::moment(mark.elapsed_ns), plain(&mark.note)),
        is_named: marks.len() <= MARKS_NAMED_MAX,
    };
    marks.iter().map(mark).collect()
}

fn mean_ns(count: u64, ms: u64) -> Option<f64> {
    // The kernel counts whole milliseconds: less than one in a second is less than a microsecond each.
    (count > 0).then(|| (ms as f64 * 1e6 / count as f64).max(1e3))
}

/// The ends of seconds, from the begin of the first.
fn ends_s(seconds: impl Iterator<Item = WatchTick>) -> Vec<f64> {
    let mut end = 0.0;
    let after = |tick: WatchTick| {
        end += tick.elapsed_us as f64 / 1e6;
        end
    };
    seconds.map(after).collect()
}

/// Ticks joined to about a second each.
fn whole_seconds(watch: &WatchRecord) -> Vec<WatchTick> {
    let mut all: Vec<WatchTick> = Vec::new();
    for tick in &watch.ticks {
        match all.last_mut().filter(|last| last.elapsed_us < WHOLE_US) {
            Some(last) => *last = last.joined(*tick),
            None => all.push(*tick),
        }
    }
    all
}

/// The colour of each cause, their legend, and what is left blank: a device that waits for work.
fn coloured(course: &WatchCourse) -> (Vec<Option<usize>>, Vec<(String, usize)>, String) {
    let (mut styles, mut names, mut blank) = (Vec::new(), Vec::new(), String::new());
    for of in &course.causes {
        let share = figures::percent(of.share);
        if matches!(of.cause, WatchCause::NoWork) {
            blank = format!("Blank: {}, {share} of the time.", plain(&watch_cause(&of.cause)));
            styles.push(None);
        } else {
            styles.push(Some(names.len()));
            names.push((format!("{}, {share} of the time", plain(&watch_cause(&of.cause))), names.len()));
        }
    }
    (styles, names, blank)
}

/// The strip of a watch, of a long one several seconds together.
fn stretches(course: &WatchCourse, ends: &[f64], styles: &[Option<usize>]) -> Vec<Stretch> {
    let together = ends.len().div_ceil(POINTS_MAX);
    let mut from = 0.0;
    let joined = |(seconds, ends): (&[CourseSecond], &[f64])| {
        let (begin, to) = (from, ends.last().copied().unwrap_or(from));
        from = to;
        let mut parts: Vec<(usize, f64)> = Vec::new();
        for second in seconds {
            let weight = second.tick.elapsed_us as f64 / 1e6 / (to - begin).max(1e-9);
            for (cause, share) in &second.causes {
                let Some(style) = styles[*cause] else { continue };
                match parts.iter_mut().find(|part| part.0 == style) {
                    Some(part) => part.1 += share * weight,
                    None => parts.push((style, share * weight)),
                }
            }
        }
        parts.sort_by_key(|part| part.0);
        Stretch { from: begin, to, parts, title: String::new() }
    };
    course.seconds.chunks(together.max(1)).zip(ends.chunks(together.max(1))).map(joined).collect()
}

/// A run with its trials in the order of time.
fn end_to_end(out: &mut String, run: &Run<'_>) {
    // Draws of a prediction have no order, and what is not measured has no time of day.
    if run.summary.run.clock == Clock::Virtual {
        return;
    }
    let mut trials: Vec<(&CellView<'_>, &TrialRecord)> = run
        .views
        .iter()
        .flat_map(|view| view.record.into_iter().flat_map(move |cell| cell.trials.iter().map(move |t| (view, t))))
        .collect();
    trials.sort_by_key(|(view, trial)| (trial.started_unix_s, view.index));
    let (moments, boundaries) = moments(trials.iter().map(|(_, trial)| &trial.series));
    if moments.len() < 2 {
        return;
    }
    let course = Course {
        id: format!("r{}-course", run.number),
        name: plain(&run.summary.run.name),
        moments,
        boundaries,
        marks: match run.views.as_slice() {
            [only] => changes(&run.record.header.settings, &only.summary.volume),
            _ => Vec::new(),
        },
        large: run.views.iter().all(is_large),
    };
    out.push_str("<p class=\"note\">Trials in the order in which they ran, end to end; lines divide them.</p>\n");
    let rate = course.rate(POINTS_MAX);
    figure(out, Size::Wide, course.heading(), &rate, &course.caption(POINTS_MAX));
    let latency = course.latency(POINTS_MAX);
    figure(out, Size::Wide, "Latency over time: median and p99 of each second", &latency, "");
    legend(out, &latency.lines.iter().map(|line| (line.name.clone(), line.style)).collect::<Vec<_>>());
    let (stretches, limits) = limits_over_time(run, &trials);
    if !limits.is_empty() {
        let strip = StripChart {
            id: format!("{}-held", course.id),
            title: "What held it over time".to_owned(),
            description: limits.iter().map(|limit| limit.0.clone()).collect::<Vec<_>>().join("; "),
            x: course.x(POINTS_MAX),
            stretches,
            size: Size::Wide,
            below: Some(rate.y.clone()),
        };
        figure(out, Size::Wide, "What held it, trial by trial", &strip, "");
        legend(out, &limits);
    }
}

/// The limit of the load of each trial, those of one load that follow each other as one; and the legend.
fn limits_over_time(run: &Run<'_>, trials: &[(&CellView<'_>, &TrialRecord)]) -> (Vec<Stretch>, Vec<(String, usize)>) {
    let (mut all, mut limits, mut from): (Vec<Stretch>, Vec<Limit>, f64) = (Vec::new(), Vec::new(), 0.0);
    for (view, trial) in trials {
        let to = from + f64::from(trial.series.interval_s) * trial.series.seconds.len() as f64;
        if let Some(limit) = view.summary.binding.as_ref().map(|binding| binding.limit) {
            let style = limits.iter().position(|known| *known == limit).unwrap_or_else(|| {
                limits.push(limit);
                limits.len() - 1
            });
            let title = format!("{}: {}", run.cell_name(view.summary), limit_name(limit));
            match all.last_mut().filter(|last| last.title == title && (last.to - from).abs() < 1e-9) {
                Some(last) => last.to = to,
                None => all.push(Stretch { from, to, parts: vec![(style, 1.0)], title }),
            }
        }
        from = to;
    }
    if all.len() > STRETCHES_MAX {
        return (Vec::new(), Vec::new());
    }
    (all, limits.into_iter().enumerate().map(|(style, limit)| (limit_name(limit).to_owned(), style)).collect())
}

/// From this mean number of requests outstanding in a second on, something waited through all of it.
const STOOD_STILL: f64 = 0.99;

/// One interval of all trials laid end to end.
struct Moment<'a> {
    /// Seconds of measured time since the first trial's start.
    at_s: f64,
    /// Seconds that it covers.
    covered_s: f64,
    count: u64,
    bytes: u64,
    /// Nothing was answered while something waited.
    stood_still: bool,
    operations: &'a [SecondOperation; 4],
}

/// All trials' series end to end, and the start of each later trial.
fn moments<'a>(trials: impl Iterator<Item = &'a Series>) -> (Vec<Moment<'a>>, Vec<f64>) {
    let (mut all, mut boundaries, mut offset_s) = (Vec::new(), Vec::new(), 0.0);
    for series in trials {
        if !all.is_empty() && !series.seconds.is_empty() {
            boundaries.push(offset_s);
        }
        let interval_s = f64::from(series.interval_s);
        let before_s = offset_s;
        let last = series.seconds.len().saturating_sub(1);
        for (index, second) in series.seconds.iter().enumerate() {
            let covered_s = if index == last { series.last_ns as f64 / 1e9 } else { interval_s };
            // A last interval of less than nine tenths has no reliable rate.
            if covered_s >= interval_s * 0.9 {
                all.push(Moment {
                    at_s: before_s + interval_s * (index as f64 + 1.0),
                    covered_s,
                    count: second.count(),
                    bytes: second.bytes(),
                    stood_still: second.count() + second.errors == 0 && second.outstanding >= STOOD_STILL,
                    operations: &second.operations,
                });
            }
        }
        offset_s += interval_s * series.seconds.len() as f64;
    }
    (all, boundaries)
}

/// At most `most` points: of each stretch the smallest and the largest, in their order.
fn thinned(points: Vec<(f64, f64)>, most: usize) -> Vec<(f64, f64)> {
    if points.len() <= most {
        return points;
    }
    let stretch = points.len().div_ceil(most / 2);
    points
        .chunks(stretch)
        .flat_map(|chunk| {
            let by = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
            let low = chunk.iter().min_by(by).copied();
            let high = chunk.iter().max_by(by).copied();
            let (first, second) = if low.map(|p| p.0) <= high.map(|p| p.0) { (low, high) } else { (high, low) };
            [first, second.filter(|_| low != high)].into_iter().flatten()
        })
        .collect()
}

/// The series of a cell's trials, end to end.
pub(super) struct Course<'a> {
    /// For the ids of its charts.
    id: String,
    /// What it is of.
    name: String,
    /// At least two.
    moments: Vec<Moment<'a>>,
    /// Starts of later trials, s.
    boundaries: Vec<f64>,
    /// Changes to the storage meanwhile.
    marks: Vec<Mark>,
    /// Whether bytes say more than requests.
    pub(super) large: bool,
}

pub(super) fn has_no_seconds(record: &CellRecord) -> bool {
    moments(record.trials.iter().map(|t| &t.series)).0.is_empty()
}

/// The course of a cell; `None` if it is too short.
pub(super) fn course<'a>(run: &Run<'_>, view: &CellView<'a>) -> Option<Course<'a>> {
    let (moments, boundaries) = moments(view.record?.trials.iter().map(|t| &t.series));
    let (id, name) = (run.cell_anchor(view.index), run.cell_name(view.summary));
    let marks = changes(&run.record.header.settings, &view.summary.volume);
    (moments.len() >= 2).then_some(Course { id, name, moments, boundaries, marks, large: is_large(view) })
}

fn is_large(view: &CellView<'_>) -> bool {
    view.summary.load.block_bytes >= LARGE_BLOCK.get()
}

/// Changes to an emulation from its settings that affect a volume, in seconds from its first request on.
fn changes(settings: &serde_json::Value, volume: &str) -> Vec<Mark> {
    let Some(first_ns) = settings["first_request_ns"][volume].as_u64() else { return Vec::new() };
    let told = settings["changes"]["told"].as_array().map(Vec::as_slice).unwrap_or_default();
    let under = |whole: &str, part: &str| part.strip_prefix(whole).is_some_and(|rest| rest.starts_with('/'));
    let mark = |change: &serde_json::Value| {
        let on = change["on"].as_str();
        let concerns = on.is_none_or(|on| on == volume || under(volume, on) || under(on, volume));
        let at_s = change["at_ns"].as_u64().filter(|_| concerns)?.checked_sub(first_ns)? as f64 / 1e9;
        Some(Mark {
            x: at_s,
            label: format!("after {} s {}", figures::tick(at_s), change["what"].as_str()?),
            is_named: false,
        })
    };
    told.iter().filter_map(mark).collect()
}

impl Course<'_> {
    pub(super) const fn heading(&self) -> &'static str {
        if self.large { "Throughput over time" } else { "IOPS over time" }
    }
    /// How so many seconds became at most `most` points, and the meaning of dashed lines; empty if neither applies.
    pub(super) fn caption(&self, most: usize) -> String {
        let seconds = self.moments.len();
        let marks = if self.marks.is_empty() { "" } else { "Dashed lines: what was done to the storage on purpose." };
        if seconds <= most {
            return marks.to_owned();
        }
        let stretch = seconds.div_ceil(most / 2);
        let thinned = format!(
            "{} seconds drawn as at most {most} points: the smallest and the largest of every {stretch}.",
            figures::count(seconds as u64)
        );
        [thinned.as_str(), marks].join(" ").trim_end().to_owned()
    }
    fn x(&self, most: usize) -> Axis {
        let label = match (self.boundaries.is_empty(), most > PAPER_POINTS_MAX) {
            (true, _) => "seconds of measured time",
            (false, true) => "seconds (trials end to end, divided by lines)",
            (false, false) => "seconds, trials divided by lines",
        };
        let end = self.moments.last().map_or(1.0, |m| m.at_s);
        Axis { high: end.max(1.0), ..Axis::linear(label, figures::tick, std::iter::once(end)) }
    }
    /// Requests or bytes of each second.
    pub(super) fn rate(&self, most: usize) -> LineChart {
        let of = |m: &Moment<'_>| if self.large { m.bytes as f64 } else { m.count as f64 } / m.covered_s;
        let rate: Vec<(f64, f64)> = self.moments.iter().map(|m| (m.at_s, of(m))).collect();
        let (label, print): (_, fn(f64) -> String) =
            if self.large { ("MB/s", |v| figures::tick(v / 1e6)) } else { ("IOPS", figures::tick) };
        let top = rate.iter().map(|p| p.1).fold(0.0, f64::max);
        LineChart {
            id: format!("{}-rate", self.id),
            title: format!("{}: {}", self.heading(), self.name),
            description: format!(
                "{} seconds; the highest is {} {label}.",
                self.moments.len(),
                if self.large { figures::megabytes(top) } else { figures::iops(top) }
            ),
            x: self.x(most),
            y: if self.large {
                Axis::linear(label, print, std::iter::once(top))
            } else {
                Axis::fitting(label, print, rate.iter().map(|point| point.1))
            },
            lines: vec![Line::bare("rate".to_owned(), 0, thinned(rate, most))],
            references: Vec::new(),
            separators: self.boundaries.clone(),
            marks: self.marks.clone(),
            size: Size::Wide,
            names: false,
            hover: Some(Hover { x: "s", y: if self.large { "bytes/s" } else { "IOPS" } }),
        }
    }
    /// Median and p99 of each second, by operation.
    pub(super) fn latency(&self, most: usize) -> LineChart {
        let mut lines = Vec::new();
        for operation in Operation::ALL {
            // A second without requests has no percentiles. If the device answered nothing, the line is broken.
            let seconds: Vec<(f64, bool, SecondOperation)> =
                self.moments.iter().map(|m| (m.at_s, m.stood_still, m.operations[operation.index()])).collect();
            if seconds.iter().all(|(.., of)| of.count == 0) {
                continue;
            }
            let whole = seconds.len() <= most;
            for (name, quantile) in [("p50", (|s| s.p50_ns) as fn(&SecondOperation) -> u64), ("p99", |s| s.p99_ns)] {
                let points = seconds.iter().filter(|(_, still, of)| of.count > 0 || *still && whole);
                let latency = |of: &SecondOperation| if of.count > 0 { quantile(of).max(1) as f64 } else { f64::NAN };
                let points = points.map(|(at_s, _, of)| (*at_s, latency(of))).collect();
                lines.push(Line::bare(format!("{} {name}", operation.name()), lines.len(), thinned(points, most)));
            }
        }
        let values = lines.iter().flat_map(|l| l.points.values()).map(|(_, y)| y).filter(|y| y.is_finite());
        let y = Axis::logarithmic("latency", figures::latency_tick, values);
        LineChart {
            id: format!("{}-late", self.id),
            title: format!("Latency over time: {}", self.name),
            description: "Median and 99th percentile of each second.".to_owned(),
            x: self.x(most),
            y,
            lines,
            references: Vec::new(),
            separators: self.boundaries.clone(),
            marks: self.marks.clone(),
            size: Size::Wide,
            names: false,
            hover: Some(Hover { x: "s", y: "ns" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_record::Second;
    use proptest::prelude::*;

    #[test]
    fn trials_follow_each_other_in_time_and_a_short_last_interval_is_left_out() {
        let series = Series { interval_s: 2, seconds: vec![Second::default(); 3], last_ns: 500_000_000 };
        let series = [series.clone(), Series { last_ns: 2_000_000_000, ..series }];
        let (moments, boundaries) = moments(series.iter());
        let times: Vec<f64> = moments.iter().map(|m| m.at_s).collect();
        assert_eq!(times, [2.0, 4.0, 8.0, 10.0, 12.0]);
        assert_eq!(boundaries, [6.0]);
    }

    proptest! {
        #[test]
        fn thinning_keeps_the_extremes_and_the_order(values in prop::collection::vec(0.0f64..1e6, 1..2000)) {
            let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(i, v)| (i as f64, *v)).collect();
            let thin = thinned(points.clone(), POINTS_MAX);
            prop_assert!(thin.len() <= POINTS_MAX);
            prop_assert!(thin.windows(2).all(|pair| pair[0].0 < pair[1].0));
            let extremes = |points: &[(f64, f64)]| {
                let values = || points.iter().map(|p| p.1);
                (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max))
            };
            prop_assert_eq!(extremes(&thin), extremes(&points));
        }
    }
}
