//! One self-contained HTML file: no network, readable without JavaScript, light and dark, on screen and on paper.

mod advice;
mod beside;
mod cells;
mod course;
mod families;
mod heat;
mod overview;
mod predictions;
mod provenance;
mod roofline;
mod scaling;
mod side_by_side;
mod table;
mod traits;

pub use advice::{PageWishes, advice_body, advice_html};
pub use beside::{OtherRole, OtherRun, PagePlace};
pub use predictions::{PredictedSide, predictions_body};

use crate::answer::RunAnswer;
use crate::comparison::comparison_answer;
use crate::doubts::{self, DoubtGroup};
use crate::escaped::Escaped;
use crate::figures::{self, plain};
use crate::page::{STYLE, Scripts, opening};
use crate::put;
use crate::remarks;
use crate::rows;
use crate::verdict;
use crate::verdict_line::{About, VerdictLine, lines_html};
use crate::words::how_long;
use loadline_analysis::{
    CellSummary, CompareOptions, Comparison, RunInfo, RunSummary, VerdictBlock, compare, scaling_of,
};
use loadline_block::Operation;
use loadline_load::LatencyFigure;
use loadline_record::{CellRecord, Clock, Histogram, HostFacts, RunRecord};

/// Theme, sorting and search of a page.
pub(crate) const SCRIPT: &str = include_str!("script.js");

/// A cell's figures with the record behind them.
#[derive(Clone, Copy)]
pub(crate) struct CellView<'a> {
    /// Place in the summary.
    pub(crate) index: usize,
    /// The figures.
    pub(crate) summary: &'a CellSummary,
    /// The recorded data, if the record has the cell.
    pub(crate) record: Option<&'a CellRecord>,
}

impl<'a> CellView<'a> {
    /// The name that the plan gave the load.
    pub(crate) fn name(&self) -> Option<&'a str> {
        self.record?.load.name()
    }
    /// The objective: its figure, and its limit in ns.
    pub(crate) fn objective(&self) -> Option<(LatencyFigure, u64)> {
        let objective = self.record?.load.figures().objective?;
        Some((objective.of, objective.limit.as_ns()))
    }
    /// A latency for charts: after a burst, the lasting one.
    pub(crate) fn latency_lasting_ns(&self, figure: LatencyFigure) -> Option<f64> {
        match &self.summary.lasting {
            Some(lasting) => lasting.latency_ns.figure(figure),
            None => self.latency_ns(figure),
        }
    }
    /// A latency figure over all reads, writes and trims, ns.
    pub(crate) fn latency_ns(&self, figure: LatencyFigure) -> Option<f64> {
        let transfers = rows::transfers(self.summary);
        if let [(_, only)] = transfers.as_slice() {
            let snapshot = &only.latency_ns;
            return match figure.share() {
                None => Some(snapshot.mean).filter(|v| v.is_finite()),
                Some(share) => snapshot.percentile(share).map(|ns| ns as f64),
            };
        }
        // A mix: its percentiles follow only from the histograms themselves.
        let merged = self.merged(&[Operation::Read, Operation::Write, Operation::Trim]);
        match figure.share() {
            None => merged.mean_ns(),
            Some(share) => merged.quantile(share).map(|d| d.as_ns() as f64),
        }
    }
    /// The latencies of some operations over all trials.
    pub(crate) fn merged(&self, operations: &[Operation]) -> Histogram {
        let mut merged = Histogram::new();
        for trial in self.record.iter().flat_map(|r| &r.trials) {
            for record in operations.iter().filter_map(|o| trial.of(*o)) {
                merged.merge(&record.latency);
            }
        }
        merged
    }
}

/// One run as the document shows it.
pub(crate) struct Run<'a> {
    /// Place in the document, for ids.
    pub(crate) number: usize,
    /// Level of the run's section headings.
    pub(crate) level: usize,
    /// The record.
    pub(crate) record: &'a RunRecord,
    /// The figures.
    pub(crate) summary: &'a RunSummary,
    /// Its doubts.
    pub(crate) groups: Vec<DoubtGroup>,
    /// Its cells.
    pub(crate) views: Vec<CellView<'a>>,
    /// Whether cells lie on more than one volume.
    pub(crate) volumes_several: bool,
    /// What it found, where it asked a question of its own.
    answer: Option<&'a RunAnswer>,
    /// Where its page lies among others.
    place: Option<&'a PagePlace<'a>>,
}

impl<'a> Run<'a> {
    fn new(number: usize, level: usize, record: &'a RunRecord, summary: &'a RunSummary) -> Self {
        let find = |id: &str| record.cells.iter().find(|cell| cell.id == id);
        // The record is in the same order unless something is missing: the search is for the rare case.
        let views = summary.cells.iter().enumerate().map(|(index, cell)| {
            let same_place = record.cells.get(index).filter(|c| c.id == cell.id);
            CellView { index, summary: cell, record: same_place.or_else(|| find(&cell.id)) }
        });
        Self {
            number,
            level,
            record,
            summary,
            groups: doubts::grouped(summary),
            views: views.collect(),
            volumes_several: summary.cells.iter().any(|c| c.volume != summary.cells[0].volume),
            answer: None,
            place: None,
        }
    }
    /// "†1,3", or nothing.
    pub(crate) fn mark(&self, index: usize) -> String {
        doubts::mark(&self.groups, index)
    }
    /// The cell's label, with its volume if there are several.
    pub(crate) fn cell_name(&self, cell: &CellSummary) -> String {
        let label = plain(&cell.label);
        if self.volumes_several { format!("{}: {label}", plain(&cell.volume)) } else { label }
    }
    /// The address of a cell's details.
    pub(crate) fn cell_anchor(&self, index: usize) -> String {
        format!("r{}-c{index}", self.number)
    }
    /// A cell's figures and doubts in words, for tooltips.
    pub(crate) fn cell_title(&self, view: &CellView<'_>) -> String {
        let mut title = self.cell_name(view.summary);
        match &view.summary.total {
            None => title.push_str("\nno figures"),
            Some(total) => {
                let interval = figures::interval(total).map_or_else(String::new, |text| format!(" ({text})"));
                let (iops, megabytes) = (figures::iops(total.iops), figures::megabytes(total.throughput_bytes_per_s));
                put!(title, "\n{iops} IOPS{interval}, {megabytes} MB/s");
            }
        }
        if let (Some(mean), Some(p99)) = (view.latency_ns(LatencyFigure::Mean), view.latency_ns(LatencyFigure::P99)) {
            put!(title, "\nlatency: mean {}, p99 {}", figures::latency(mean), figures::latency(p99));
        }
        if let Some(lasting) = &view.summary.lasting {
            let (before, after) = (figures::iops(lasting.iops_before), figures::iops(lasting.iops));
            put!(title, "\n{before} IOPS {}, then {after}", how_long(lasting.before_ns));
        }
        if let (Some(offered), Some(total)) = (view.summary.offered_iops, &view.summary.total) {
            put!(title, "\noffered {} IOPS, achieved {}", figures::iops(offered), figures::iops(total.iops));
        }
        for group in doubts::of_cell(&self.groups, view.index) {
            put!(title, "\n† {}: {}", group.code, group.code.meaning());
        }
        title
    }
}

/// The table of results as a fragment of HTML, without scripts and styles; a paragraph if there are no cells.
#[must_use]
pub fn results_table(record: &RunRecord, summary: &RunSummary) -> String {
    let mut out = String::new();
    table::results(&mut out, &Run::new(1, 2, record, summary));
    let rest = out.split_once("<table class=\"results\">").and_then(|(_, rest)| rest.split_once("</table>"));
    rest.map_or(out.clone(), |(rows, _)| format!("<table class=\"results\">{rows}</table>"))
}

/// The chart beside the verdict as an SVG file of its own; `None` if no load was varied.
#[must_use]
pub fn chart_svg(record: &RunRecord, summary: &RunSummary) -> Option<String> {
    let out = overview::lead_chart(&Run::new(1, 2, record, summary));
    let chart = &out[out.find("<svg class=\"chart\"")?..];
    let chart = &chart[..chart.find("</svg>")?];
    let (opening, rest) = chart.split_once('>')?;
    Some(format!("{opening} xmlns=\"http://www.w3.org/2000/svg\"><style>\n{STYLE}</style>{rest}</svg>\n"))
}

/// The report over one run or several, as one HTML file. A record and its summary belong together.
#[must_use]
pub fn html(runs: &[(&RunRecord, &RunSummary)]) -> String {
    html_with_answers(runs, &[], None)
}

/// Runs compared with each other, for one document: all of it shows these.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparisons {
    /// With the first of them.
    pub all: Comparison,
    /// By the numbers of their disks, where these differ.
    pub by_disks: Option<Comparison>,
}

impl Comparisons {
    /// By the usual rules, of the trials that the records have; `None`: they cannot be compared.
    #[must_use]
    pub fn usual(records: &[&RunRecord]) -> Option<Self> {
        let all = compare(records, &CompareOptions::default()).ok()?;
        Some(Self { all, by_disks: scaling_of(records) })
    }
}

/// The same, where runs have answers of their own: each opens the part of its run. `answers` are in the order of the runs.
/// `comparisons` are those of these runs, perhaps with prices; without them several runs are compared by the usual rules.
#[must_use]
pub fn html_with_answers(
    runs: &[(&RunRecord, &RunSummary)],
    answers: &[Option<RunAnswer>],
    comparisons: Option<&Comparisons>,
) -> String {
    let usual = match (comparisons, runs.len()) {
        (Some(_), _) | (None, ..2) => None,
        (None, _) => Comparisons::usual(&runs.iter().map(|(record, _)| *record).collect::<Vec<_>>()),
    };
    let comparisons = comparisons.or(usual.as_ref());
    let level = if runs.len() == 1 { 2 } else { 3 };
    let runs: Vec<Run<'_>> = runs
        .iter()
        .enumerate()
        .map(|(number, (record, summary))| {
            let answer = answers.get(number).and_then(Option::as_ref);
            Run { answer, ..Run::new(number + 1, level, record, summary) }
        })
        .collect();
    document(&runs, comparisons)
}

/// The report of a run as a page among others, of which `place` says which: they link to each other.
#[must_use]
pub fn run_page(record: &RunRecord, summary: &RunSummary, answer: Option<&RunAnswer>, place: &PagePlace<'_>) -> String {
    document(&[Run { answer, place: Some(place), ..Run::new(1, 2, record, summary) }], None)
}

fn document(runs: &[Run<'_>], comparisons: Option<&Comparisons>) -> String {
    let compared = comparisons.map(|both| comparison_answer(&both.all));
    let heading = match runs {
        [run] => plain(&run.summary.run.name),
        _ => format!("{} runs", runs.len()),
    };
    // Pages that lie beside each other are told apart by their titles.
    let title = match runs {
        [run] if run.place.is_some() => format!("{heading}, {}", plain(&run.summary.run.started)),
        _ => heading.clone(),
    };
    let mut out = opening(&title, &heading, Scripts::Own);
    match runs {
        [run] => lead(&mut out, run),
        [] => out.push_str("<p class=\"lead\">No run was given.</p>\n"),
        _ => {
            if let Some(answer) = &compared {
                let chart = comparisons.map(|both| side_by_side::lead_chart(&both.all)).unwrap_or_default();
                answer_lines(&mut out, answer, &chart);
            }
            list_of_runs(&mut out, runs);
        }
    }
    out.push_str("</header>\n<main>\n");
    if runs.len() > 1 {
        if let Some(answer) = compared.filter(|answer| !answer.tables.is_empty()) {
            out.push_str("<section id=\"ranks\">\n<h2>Compared</h2>\n");
            answer_tables(&mut out, &answer);
            out.push_str("</section>\n");
        }
        if let Some(comparison) = comparisons.and_then(|both| both.by_disks.as_ref()) {
            out.push_str("<section id=\"scaling\">\n");
            scaling::scaling(&mut out, comparison, 2, "");
            out.push_str("</section>\n");
        }
        side_by_side::side_by_side(&mut out, runs, comparisons.map(|both| &both.all));
    }
    for run in runs {
        if runs.len() > 1 {
            put!(out, "<article id=\"r{}\">\n<h2>{}</h2>\n", run.number, Escaped(plain(&run.summary.run.name)));
            lead(&mut out, run);
        }
        sections(&mut out, run);
        if runs.len() > 1 {
            out.push_str("</article>\n");
        }
    }
    let version = runs.first().map_or("", |run| &run.summary.run.version);
    put!(out, "</main>\n<footer>Written by loadline {}.</footer>\n", Escaped(plain(version)));
    put!(out, "<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    out
}

/// The verdict, and the run in a line.
fn lead(out: &mut String, run: &Run<'_>) {
    let info = &run.summary.run;
    if run.summary.verdict.is_none() && run.answer.is_none() {
        put!(out, "<p class=\"lead\">{}</p>\n", Escaped(rows::verdict(run.summary)));
    }
    if let Some(warning) = rows::status_warning(info) {
        put!(out, "<p class=\"warn\">The run is {warning}.</p>\n");
    }
    let volumes: Vec<String> =
        info.volumes.iter().map(|v| format!("{} on {}", plain(&v.name), rows::place(v))).collect();
    let mut parts = vec![
        match run.summary.cells.len() {
            1 => "1 cell".to_owned(),
            count => format!("{} cells", figures::count(count as u64)),
        },
        volumes.join(", "),
        info.host.hostname.as_deref().map(plain).unwrap_or_default(),
        plain(&info.started),
        clock_word(info),
        format!("run {}", plain(&info.id)),
    ];
    parts.retain(|part| !part.is_empty());
    put!(out, "<p class=\"meta\">{}</p>\n", Escaped(parts.join(" · ")));
    for (about, said) in remarks::remarks(info) {
        put!(out, "<p class=\"remark\"><span>{about}</span> {}</p>\n", Escaped(said));
    }
    if let Some(answer) = run.answer {
        answer_lines(out, answer, "");
    } else if let Some(verdict) = &run.summary.verdict {
        verdict_block(out, run, verdict);
    }
}

/// An answer in a few lines, with a chart beside it where there is one.
fn answer_lines(out: &mut String, answer: &RunAnswer, chart: &str) {
    out.push_str("<div class=\"verdict\">\n");
    lines_html(out, "answers", &answer.lines.iter().collect::<Vec<_>>());
    if !chart.is_empty() {
        put!(out, "<div class=\"chart-beside\">{chart}</div>\n");
    }
    out.push_str("</div>\n");
}

/// The tables that an answer rests on.
fn answer_tables(out: &mut String, answer: &RunAnswer) {
    for table in &answer.tables {
        put!(out, "<h4>{}</h4>\n{}", Escaped(plain(&table.title)), table.table.html());
    }
}

/// The verdict: tiles of one volume's figures, then what holds it; several volumes in a line each.
fn verdict_block(out: &mut String, run: &Run<'_>, block: &VerdictBlock) {
    out.push_str("<div class=\"verdict\">\n");
    let (tiles, lines) = verdict::tiles(block);
    if !tiles.is_empty() {
        out.push_str("<div class=\"tiles\">");
        for tile in &tiles {
            put!(
                out,
                "<div class=\"tile\"><span class=\"what\">{}</span><strong>{}</strong><span class=\"aside\">{}</span></div>",
                Escaped(&tile.what),
                Escaped(&tile.value),
                Escaped(&tile.aside)
            );
        }
        out.push_str("</div>\n");
    }
    let (asides, answers): (Vec<&VerdictLine>, Vec<&VerdictLine>) = lines
        .iter()
        .partition(|line| matches!(line.about, About::HowSure | About::Next | About::Command | About::Afterwards));
    lines_html(out, "answers", &answers);
    let chart = overview::lead_chart(run);
    put!(out, "<div class=\"chart-beside\">{chart}</div>\n");
    lines_html(out, "asides", &asides);
    out.push_str("</div>\n");
}

fn clock_word(info: &RunInfo) -> String {
    if info.clock == Clock::Virtual { "predicted by a model".to_owned() } else { plain(&info.how()) }
}

/// Several runs at a glance, with the differences that affect a comparison.
fn list_of_runs(out: &mut String, runs: &[Run<'_>]) {
    out.push_str("<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">run</th><th scope=\"col\">clock</th><th scope=\"col\">started</th><th scope=\"col\">machine</th><th scope=\"col\">volumes</th><th scope=\"col\">verdict</th></tr></thead>\n<tbody>\n");
    for run in runs {
        let info = &run.summary.run;
        let volumes: Vec<String> =
            info.volumes.iter().map(|v| format!("{}: {}", plain(&v.name), rows::place(v))).collect();
        put!(out, "<tr><th scope=\"row\"><a href=\"#r{}\">{}</a></th>", run.number, Escaped(plain(&info.name)));
        for text in [
            clock_word(info),
            plain(&info.started),
            info.host.hostname.as_deref().map_or_else(|| figures::MISSING.to_owned(), plain),
            volumes.join(", "),
            rows::verdict(run.summary),
        ] {
            put!(out, "<td>{}</td>", Escaped(text));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    unlike(out, runs);
}

/// Other differences between runs than the storage.
fn unlike(out: &mut String, runs: &[Run<'_>]) {
    let differ = |of: &dyn Fn(&Run<'_>) -> String| runs.iter().any(|run| of(run) != of(&runs[0]));
    let environment = |r: &Run<'_>| r.summary.run.environment.as_ref().map(|e| e.name.clone());
    // A prediction depends neither on the machine nor on the folder in which it ran.
    let predictions = runs.iter().all(|r| r.summary.run.clock == Clock::Virtual && environment(r).is_some());
    let mut unlike: Vec<&str> = Vec::new();
    if differ(&|r| format!("{:?}", r.summary.run.clock)) {
        let emulated = runs.iter().any(|r| r.summary.run.is_emulated());
        let measured = runs.iter().any(|r| r.summary.run.clock == Clock::Real && !r.summary.run.is_emulated());
        unlike.push(match (measured, emulated) {
            (true, true) => "some are measured, some emulated and some predicted",
            (false, true) => "some are emulated and some predicted",
            (_, false) => "some are measured and some predicted",
        });
    } else if differ(&|r| r.summary.run.is_emulated().to_string()) {
        unlike.push("some are measured and some emulated");
    } else if differ(&|r| clock_word(&r.summary.run)) {
        unlike.push("they were measured by different tools");
    }
    if !predictions {
        let host = |of: fn(&HostFacts) -> &Option<String>| {
            move |r: &Run<'_>| of(&r.summary.run.host).clone().unwrap_or_default()
        };
        if differ(&host(|h| &h.hostname)) {
            unlike.push("they ran on different machines");
        }
        if differ(&host(|h| &h.cpu_model)) {
            unlike.push("they ran on different CPUs");
        }
        if differ(&|r| r.summary.run.volumes.iter().map(rows::place).collect::<Vec<_>>().join(" ")) {
            unlike.push("they ran on different targets");
        }
    }
    if differ(&|r| r.summary.run.plan.iter().map(|p| p.hash.as_str()).collect::<Vec<_>>().join(" ")) {
        unlike.push("their plans differ");
    }
    if !unlike.is_empty() {
        put!(out, "<p class=\"warn\">When comparing these runs, mind that {}.</p>\n", unlike.join(", "));
    }
    if predictions && differ(&|r| environment(r).unwrap_or_default()) {
        out.push_str(
            "<p class=\"note\">All are predictions: they compare the environments that they were made for.</p>\n",
        );
    }
}

fn sections(out: &mut String, run: &Run<'_>) {
    let (number, level) = (run.number, run.level);
    let charts = overview::charts(run);
    let course = course::of_run(run);
    let links = [
        ("beside", "Beside other runs", run.place.is_some()),
        ("answer", "What was found", run.answer.is_some_and(|answer| !answer.tables.is_empty())),
        ("course", "Over time", !course.is_empty()),
        ("charts", "Charts", !charts.is_empty()),
        ("findings", "Findings", true),
        ("table", "Results", true),
        ("doubts", "Doubts", !run.groups.is_empty()),
        ("cells", "Cell by cell", !run.views.is_empty()),
        ("provenance", "Machine and provenance", true),
    ];
    out.push_str("<nav aria-label=\"Sections\">");
    if let Some(place) = run.place {
        put!(out, "<a href=\"{}\">All runs</a> ", Escaped(place.index));
    }
    for (id, name, _) in links.iter().filter(|l| l.2) {
        put!(out, "<a href=\"#r{number}-{id}\">{name}</a> ");
    }
    out.push_str("</nav>\n");
    for (id, name, _) in links.iter().filter(|l| l.2) {
        put!(out, "<section id=\"r{number}-{id}\">\n<h{level}>{name}</h{level}>\n");
        match *id {
            "beside" => {
                let place = run.place.expect("only then it is linked");
                beside::beside(out, place, &run.summary.run.id, level);
            }
            "answer" => answer_tables(out, run.answer.expect("only then it is linked")),
            "findings" => table::findings(out, run),
            "table" => table::results(out, run),
            "doubts" => table::doubts(out, run),
            "course" => out.push_str(&course),
            "charts" => out.push_str(&charts),
            "cells" => cells::cells(out, run),
            _ => provenance::provenance(out, run),
        }
        out.push_str("</section>\n");
    }
}
