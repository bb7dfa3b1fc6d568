//! `report --all`: a folder of pages, an index by month and a page for each run, of which only those are written that changed.

use crate::answers::KindAnswer;
use crate::arguments::report::ReportArguments;
use crate::failure::{Outcome, Usage};
use crate::progress_line::ProgressLine;
use crate::{compare, failure, output, output_file, stored};
use loadline_analysis::{Comparison, HeldCount, HeldLimit, RUNS_BACK, RunSummary};
use loadline_document::text_hash;
use loadline_record::{BASELINE, Clock, RunRecord};
use loadline_report::{Headline, IndexRow, OtherRole, OtherRun, PagePlace, Standing, index_pages, run_page};
use loadline_runs::{OutputError, PageFolder, PagesWritten};
use loadline_store::{Filter, RunLine, Store, Tag};
use loadline_units::Timestamp;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The folder with the pages of runs.
const RUNS: &str = "runs";
/// The index, from a page of a run.
const INDEX: &str = "../index.html";
/// Pages of another form are made anew: it is a part of what each is made of.
const FORM: u32 = 1;
/// Records that stay in memory for the comparisons that follow.
const RECORDS_KEPT: usize = 8;
/// Characters of an id that may be the name of a file.
const FILE_NAME_MAX: usize = 100;

/// Brings the folder up to date.
pub(crate) fn write(arguments: &ReportArguments, quiet: bool, store: &Store) -> anyhow::Result<Outcome> {
    let place = arguments.output.as_deref().expect("the option asks for it");
    let filter = arguments.filter.filter(&arguments.runs, since(arguments)?);
    let mut lines = store.list(&filter)?;
    lines.sort_by(|a, b| (&a.started, a.number).cmp(&(&b.started, b.number)));
    let baselines = Filter { tags: vec![Tag { key: BASELINE.to_owned(), value: String::new() }], ..Filter::default() };
    let folder = PageFolder::open(place, &[RUNS], output_file::REPORT_MARK, arguments.force).map_err(refused)?;
    let states = store.states()?;
    let mut pages = Pages {
        store,
        states,
        baselines: store.list(&baselines)?,
        shown: lines.iter().map(|line| line.id.clone()).collect(),
        folder,
        kept: VecDeque::new(),
        unreadable: 0,
    };
    let rows = pages.of_runs(&lines, quiet)?;
    let title = title(arguments);
    let version = env!("CARGO_PKG_VERSION");
    let mut kept: BTreeSet<String> = rows.iter().filter_map(|row| row.page.clone()).collect();
    for page in index_pages(&rows, &title, version) {
        pages.folder.write(&page.file, &output_file::marked(&page.html)).map_err(refused)?;
        kept.insert(page.file);
    }
    for inner in ["", RUNS] {
        pages.folder.remove_others(inner, &kept).map_err(refused)?;
    }
    output::tell(&done(rows.len(), pages.folder.written()));
    output::tell(&format!("index: {}", place.join("index.html").display()));
    Ok(if pages.unreadable > 0 { Outcome::Failed } else { Outcome::Done })
}

/// The filter's time: of a time of day the latest such.
fn since(arguments: &ReportArguments) -> Result<Option<String>, Usage> {
    let Some(typed) = arguments.time.since else { return Ok(None) };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let since = typed.latest(now, 1, |_| true).ok_or_else(|| Usage("--since: there was no such time".to_owned()))?;
    Ok(Some(Timestamp::from_unix_s(since).to_string()))
}

/// What the runs of the index are.
fn title(arguments: &ReportArguments) -> String {
    let tags = arguments.filter.tag.iter().map(Tag::to_string);
    let said: Vec<String> = arguments.runs.iter().cloned().chain(tags).chain(arguments.filter.name.clone()).collect();
    if said.is_empty() { "Runs".to_owned() } else { format!("Runs: {}", said.join(" ")) }
}

fn done(runs: usize, written: PagesWritten) -> String {
    let PagesWritten { new, changed, removed } = written;
    let count = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let parts = [count(new, "new"), count(changed, "changed"), count(removed, "removed")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let written = if parts.is_empty() { "no page changed".to_owned() } else { format!("pages: {}", parts.join(", ")) };
    format!("{runs} {}; {written}", if runs == 1 { "run" } else { "runs" })
}

/// A refusal with what to do.
fn refused(error: OutputError) -> anyhow::Error {
    match error {
        OutputError::Foreign { .. } => {
            Usage(format!("{error}: name another folder with -o, or write in its place with --force")).into()
        }
        error => error.into(),
    }
}

/// Pages that are being brought up to date.
struct Pages<'s> {
    store: &'s Store,
    /// What is stored of each run, in a text that changes with it.
    states: BTreeMap<String, String>,
    /// Runs that are tagged as the baseline, the newest first.
    baselines: Vec<RunLine>,
    /// Ids of the runs that have a page.
    shown: BTreeSet<String>,
    folder: PageFolder,
    /// Records that were read last.
    kept: VecDeque<Rc<RunRecord>>,
    unreadable: usize,
}

/// What a run is held against.
struct Others<'a> {
    before: Option<&'a RunLine>,
    baseline: Option<&'a RunLine>,
    is_baseline: bool,
}

/// Runs that follow one another: of one name, all measured or all predicted.
type Series<'a> = BTreeMap<(&'a str, bool), Vec<usize>>;

impl Pages<'_> {
    /// The rows of these runs, the oldest first, whose pages are up to date then.
    fn of_runs(&mut self, lines: &[RunLine], quiet: bool) -> anyhow::Result<Vec<IndexRow>> {
        // Refused before anything is written.
        for line in lines {
            self.folder.beginning(&page_of(&line.id)).map_err(refused)?;
        }
        self.folder.beginning("index.html").map_err(refused)?;
        let baselines = std::mem::take(&mut self.baselines);
        let (mut rows, mut held): (Vec<IndexRow>, Vec<Vec<HeldLimit>>) = (Vec::new(), Vec::new());
        let mut series = Series::new();
        let (mut progress, begun) = (ProgressLine::new(quiet), Instant::now());
        for (place, line) in lines.iter().enumerate() {
            let earlier = series.entry((line.name.as_str(), line.clock == Clock::Real)).or_default();
            let before: Vec<&[HeldLimit]> =
                earlier.iter().rev().take(RUNS_BACK - 1).map(|of| held[*of].as_slice()).collect();
            let others = Others {
                before: earlier.last().map(|of| &lines[*of]),
                baseline: baseline_of(line, &baselines),
                is_baseline: baselines.iter().any(|own| own.id == line.id),
            };
            let row = self.of_run(line, &others, &before)?;
            earlier.push(place);
            held.push(row.held.iter().map(|count| count.limit.clone()).collect());
            rows.push(row);
            progress.draw_share("pages", (place + 1) as f64 / lines.len() as f64, begun.elapsed());
        }
        Ok(rows)
    }

    /// The row of a run; its page is written unless it is there, made of the same.
    fn of_run(&mut self, line: &RunLine, others: &Others<'_>, before: &[&[HeldLimit]]) -> anyhow::Result<IndexRow> {
        let page = page_of(&line.id);
        let made_of = self.made_of(line, others, before);
        let beginning = self.folder.beginning(&page).map_err(refused)?;
        if let Some(row) = beginning.and_then(|beginning| IndexRow::of_page(&beginning, &made_of)) {
            return Ok(row);
        }
        let record = match self.record(&line.id) {
            Ok(record) => record,
            Err(error) => {
                let (words, _) = failure::told(&error);
                output::tell(&format!("run {} has no page: {words}", line.id));
                self.unreadable += 1;
                return Ok(row_of(line, None));
            }
        };
        let summary = stored::summary_in(self.store, &record)?;
        let mut row = row_of(line, Some(page.clone()));
        row.headline = Headline::of(&summary);
        row.held = HeldCount::of_run(&summary.held_limits(), before);
        let with_before = others.before.and_then(|other| self.compared(other, &record));
        let with_baseline = others.baseline.and_then(|other| self.compared(other, &record));
        row.before = with_before.as_ref().and_then(Standing::of_second);
        row.baseline = with_baseline.as_ref().and_then(Standing::of_second);
        let beside = [
            (OtherRole::Before, others.before, with_before.as_ref()),
            (OtherRole::Baseline, others.baseline, with_baseline.as_ref()),
        ];
        let html = self.page(&record, &summary, &row, &beside, others.is_baseline);
        let html = row.stamped(&output_file::marked(&html), &made_of);
        self.folder.write(&page, &html).map_err(refused)?;
        Ok(row)
    }

    fn page(
        &self,
        record: &RunRecord,
        summary: &RunSummary,
        row: &IndexRow,
        beside: &[(OtherRole, Option<&RunLine>, Option<&Comparison>)],
        is_baseline: bool,
    ) -> String {
        let files: Vec<Option<String>> = beside
            .iter()
            .map(|(_, other, _)| other.filter(|other| self.shown.contains(&other.id)).map(|other| file_of(&other.id)))
            .collect();
        let mut all = Vec::new();
        for ((role, other, comparison), page) in beside.iter().zip(&files) {
            if let Some(other) = other {
                all.push(OtherRun {
                    role: *role,
                    run: &other.id,
                    name: &other.name,
                    started: &other.started,
                    page: page.as_deref(),
                    comparison: *comparison,
                });
            }
        }
        let answer = KindAnswer::of(record).map(|answer| answer.in_report());
        let place = PagePlace { index: INDEX, beside: all, held: &row.held, is_baseline };
        run_page(record, summary, answer.as_ref(), &place)
    }

    /// All that a page depends on, as a fingerprint.
    fn made_of(&self, line: &RunLine, others: &Others<'_>, before: &[&[HeldLimit]]) -> String {
        let state = |id: &str| format!("{id} {:?}", self.states.get(id));
        let other = |other: Option<&RunLine>| other.map(|other| (state(&other.id), self.shown.contains(&other.id)));
        let tags: Vec<String> = line.tags.iter().map(Tag::to_string).collect();
        let all = (
            (FORM, env!("CARGO_PKG_VERSION")),
            (line.number, state(&line.id), tags, line.doubts),
            (other(others.before), other(others.baseline), others.is_baseline),
            before,
        );
        text_hash(&format!("{all:?}"))
    }

    /// The comparison of a run with an earlier one; `None`: that cannot be read, or they cannot be compared.
    fn compared(&mut self, earlier: &RunLine, record: &RunRecord) -> Option<Comparison> {
        let earlier = self.record(&earlier.id).ok()?;
        compare::as_stored(&earlier, record)
    }

    fn record(&mut self, id: &str) -> anyhow::Result<Rc<RunRecord>> {
        if let Some(found) = self.kept.iter().find(|record| record.header.id == id) {
            return Ok(Rc::clone(found));
        }
        let record = Rc::new(self.store.load(id)?);
        if self.kept.len() == RECORDS_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(Rc::clone(&record));
        Ok(record)
    }
}

/// The baseline that a run is held against: of its own name the one added last, or else of any; never itself, and never a prediction for
/// what was measured.
fn baseline_of<'a>(line: &RunLine, baselines: &'a [RunLine]) -> Option<&'a RunLine> {
    if baselines.iter().any(|own| own.id == line.id) {
        return None;
    }
    let alike = || baselines.iter().filter(|own| own.clock == line.clock);
    alike().find(|own| own.name == line.name).or_else(|| alike().next())
}

/// What the list of runs knows.
fn row_of(line: &RunLine, page: Option<String>) -> IndexRow {
    IndexRow {
        page,
        run: line.id.clone(),
        number: line.number,
        name: line.name.clone(),
        verb: line.verb.name().to_owned(),
        started: line.started.clone(),
        status: line.status,
        volumes: line.volumes.iter().map(|volume| format!("{}={}", volume.name, volume.target)).collect(),
        headline: None,
        held: Vec::new(),
        doubts: line.doubts,
        tags: line.tags.clone(),
        before: None,
        baseline: None,
    }
}

/// The page of a run, from the index.
fn page_of(id: &str) -> String {
    format!("{RUNS}/{}", file_of(id))
}

/// The file of a run's page: its id, or the fingerprint of one that is no name of a file. Windows takes capitals for small letters, and keeps
/// words for its devices; none of them begins with a digit, as ids do.
fn file_of(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    let is_name = id.len() <= FILE_NAME_MAX && id.starts_with(|c: char| c.is_ascii_digit()) && id.chars().all(is_plain);
    if is_name { format!("{id}.html") } else { format!("id-{}.html", text_hash(id)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_leads_out_of_the_folder() {
        assert_eq!(page_of("20260131-142233-1a2b3c"), "runs/20260131-142233-1a2b3c.html");
        for id in
            ["../../etc/passwd", "", ".hidden", "a/b", "<script>", "a b", "CON", "nul", "1:a", "1A", &"1".repeat(200)]
        {
            let file = file_of(id);
            assert!(file.starts_with("id-") && file.len() == 24, "{id}: {file}");
        }
    }
}
