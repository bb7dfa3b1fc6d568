//! Stored runs: `list`, `show`, `rm`, `report`.

use crate::answers::{KindAnswer, KindComparison};
use crate::arguments::list::{ListArguments, TagArguments};
use crate::arguments::report::ReportArguments;
use crate::arguments::time::TimeArguments;
use crate::arguments::{Format, RmArguments, ShowArguments};
use crate::failure::{Outcome, Usage};
use crate::output;
use crate::recommendations::{summarized, with_command};
use crate::schema::Schema;
use crate::{compare, output_file, pages, printing, typed_settings};
use loadline_analysis::{LimitFigure, Quantity, RunSummary, RunVerdict, known_limits, run_verdict};
use loadline_block::Operation;
use loadline_record::{CellRecord, RunRecord, RunStatus};
use loadline_report::rates as figures;
use loadline_report::{Column, Field, RunAnswer, Table, incidents_table, words};
use loadline_runs::leftovers::{self, Leftover};
use loadline_runs::watch::StoredWatch;
use loadline_runs::{Error, settings_of};
use loadline_store::{Filter, NOTE, Store, Tag};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Characters of a run's name in the list.
const NAME_SHOWN_MAX: usize = 24;
/// Characters of all volumes of a run in the list.
const VOLUMES_SHOWN_MAX: usize = 32;
/// Characters of all tags of a run in the list.
const TAGS_SHOWN_MAX: usize = 32;

/// `list`: the runs that pass the filters, those added last first; none where there is no store yet.
pub(crate) fn list(arguments: &ListArguments, store: Option<&Store>) -> anyhow::Result<Outcome> {
    let filter = arguments.filter.filter(&arguments.words, arguments.since.clone());
    let mut table = Table::new(&[
        Column::numbers("no", "number"),
        Column::words("run", "run"),
        Column::words("name", "name"),
        Column::words("verb", "verb"),
        Column::words("started", "started").expendable(3),
        Column::words("status", "status"),
        Column::words("volumes", "volumes").expendable(1),
        Column::numbers("cells", "cells").expendable(2),
        Column::numbers("trials", "trials"),
        Column::numbers("of", "trials_planned"),
        Column::numbers("doubts", "doubts"),
        Column::words("tags", "tags").expendable(4),
    ]);
    for run in store.map_or_else(|| Ok(Vec::new()), |store| store.list(&filter))? {
        let volumes: Vec<String> = run.volumes.iter().map(|v| format!("{}={}", v.name, v.target)).collect();
        table.push(vec![
            Field::count(run.number),
            Field::text(run.id),
            Field::cut(run.name, NAME_SHOWN_MAX),
            Field::text(run.verb.name()),
            Field::text(run.started),
            Field::text(status_name(run.status)),
            Field::cut(volumes.join(" "), VOLUMES_SHOWN_MAX),
            Field::count(run.cells),
            Field::count(run.trials_done),
            Field::count(run.trials_planned),
            Field::count(run.doubts),
            Field::cut(tags(&run.tags), TAGS_SHOWN_MAX),
        ]);
    }
    if table.is_empty() && arguments.printing.format == Format::Table {
        output::tell(if filter == Filter::default() {
            "the store holds no run; `loadline quick` or `loadline run` makes one"
        } else {
            "no stored run passes these filters; `loadline list` without them shows what there is"
        });
        return Ok(Outcome::Done);
    }
    output::print(&printing::table(&table, Schema::List, arguments.printing.format))?;
    Ok(Outcome::Done)
}

/// Tags as they are typed.
fn tags(tags: &[Tag]) -> String {
    tags.iter().map(Tag::to_string).collect::<Vec<_>>().join(" ")
}

/// Says something of a run, and prints all that is said of it.
pub(crate) fn tag(arguments: &TagArguments, store: &Store) -> anyhow::Result<Outcome> {
    let run = store.resolve(&arguments.run)?;
    let note = arguments
        .note
        .as_deref()
        .map(|note| Tag::new(NOTE, note))
        .transpose()
        .map_err(|error| Usage(error.to_string()))?;
    let given: Vec<Tag> = arguments.tags.iter().cloned().chain(note).collect();
    let said = if given.is_empty() && arguments.remove.is_empty() {
        store.tags(&run)?
    } else {
        store.tag(&run, &given, &arguments.remove)?
    };
    if said.is_empty() {
        output::tell(&format!("nothing is said of run {run}"));
    }
    output::print(&said.iter().map(|tag| loadline_report::plain(&tag.to_string()) + "\n").collect::<String>())?;
    Ok(Outcome::Done)
}

fn status_name(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Unfinished => "unfinished",
        RunStatus::Finished => "finished",
        RunStatus::Interrupted => "interrupted",
        RunStatus::Failed => "failed",
    }
}

/// `show`: a run's summary, or the series of its trials.
pub(crate) fn show(arguments: &ShowArguments, store: &Store) -> anyhow::Result<Outcome> {
    if arguments.incidents {
        return incidents(arguments, store);
    }
    let mut record = load_part(store, arguments.run.as_deref(), arguments.time)?;
    if let Some(objective) = arguments.objective {
        record.judge_by(objective);
    }
    let judged = if arguments.objective.is_some() { judged(&record) } else { Outcome::Done };
    if let Some(name) = &arguments.plan {
        let text = plan_text(&record, name)?;
        let settings = settings_of(&record).ok();
        if let Some(other) = settings.as_ref().and_then(|settings| typed_settings::typed(&settings.overrides)) {
            output::tell(&format!("the run had other values than the plan's own: {other}"));
        }
        output::print(text)?;
        return Ok(Outcome::Done);
    }
    if arguments.env {
        let id = &record.header.id;
        let environment = record.header.environment.as_ref();
        let environment = environment.ok_or_else(|| Usage(format!("run {id} was given no environment to show")))?;
        output::print(&environment.text)?;
        return Ok(Outcome::Done);
    }
    let chosen = arguments.cell.as_deref().map(|typed| chosen_cells(&record, typed)).transpose()?;
    let wanted = |id: &str| chosen.as_ref().is_none_or(|ids| ids.contains(id));
    let text = if arguments.series {
        record.cells.retain(|cell| wanted(&cell.id));
        if let Some(from) = &record.header.imported {
            output::tell(&format!("there are no seconds: {} measured the run and kept none", from.tool_and_version()));
        }
        printing::table(&series(&record), Schema::Seconds, arguments.printing.format)
    } else if arguments.limits {
        limits_text(&record, arguments.printing.format)
    } else {
        // Summed up before cells are left out: what is known of one cell may rest on others.
        let mut summary = summary_in(store, &record)?;
        summary.cells.retain(|cell| wanted(&cell.id));
        summary.conclusions.retain(|conclusion| wanted(&conclusion.cell));
        summary.findings.retain(|finding| {
            finding.cells.is_empty() || finding.cells.iter().any(|id| summary.cells.iter().any(|cell| cell.id == *id))
        });
        let format = arguments.printing.format;
        // What a run answers is about all of its cells.
        let answer = KindAnswer::of(&record).filter(|_| chosen.is_none());
        answer.and_then(|answer| answer.shown(&summary, format)).unwrap_or_else(|| {
            let for_people = matches!(format, Format::Table | Format::Markdown);
            let summary = if for_people { with_command(&summary) } else { Cow::Borrowed(&summary) };
            printing::summary(&summary, format)
        })
    };
    output::print(&text)?;
    let id = &record.header.id;
    // Whoever is at work on the run holds its claim, and needs its files.
    if record.status != RunStatus::Finished && store.claim(id).is_ok() {
        for leftover in left_behind(&record) {
            output::tell(&format!(
                "left behind when the run was cut off: {} ({}); `loadline run --resume {id}` takes it away, \
                 `loadline run --verify-only {id}` checks what is in it",
                leftover.path.display(),
                leftover.size.human()
            ));
        }
    }
    Ok(judged)
}

/// What the run keeps of its plan: the only one, or the one called `name`.
fn plan_text<'a>(record: &'a RunRecord, name: &str) -> Result<&'a str, Usage> {
    let header = &record.header;
    let id = &header.id;
    let names: Vec<String> = header.plans.iter().map(|plan| format!("{:?}", plan.name)).collect();
    let fitting: Vec<_> = header.plans.iter().filter(|plan| name.is_empty() || plan.name == name).collect();
    match fitting[..] {
        [plan] => Ok(&plan.text),
        [] if names.is_empty() => {
            Err(Usage(format!("run {id} has no plan to show: `{}` made it without one", header.verb)))
        }
        [] => Err(Usage(format!("run {id} has no plan {name:?}; it has {}", names.join(", ")))),
        _ => Err(Usage(format!(
            "run {id} has the plans {}: say which, as in --plan={}",
            names.join(", "),
            fitting[0].name
        ))),
    }
}

/// Test files with names that are still there; none where the run was told things that this version does not understand.
fn left_behind(record: &RunRecord) -> Vec<Leftover> {
    settings_of(record).map_or_else(|_| Vec::new(), |settings| leftovers::of_run(&record.header.id, &settings))
}

/// Ids of the cells that `typed` means: one by its place in the run's table, counted from 1; or those whose id begins with it
/// or whose label contains it.
fn chosen_cells(record: &RunRecord, typed: &str) -> Result<BTreeSet<String>, Usage> {
    /// Longer numbers are beginnings of ids.
    const PLACE_DIGITS_MAX: usize = 6;
    let (run, count) = (&record.header.id, record.cells.len());
    let place = typed.parse::<usize>().ok().filter(|_| typed.len() <= PLACE_DIGITS_MAX);
    if let Some(place) = place {
        let cell = place.checked_sub(1).and_then(|index| record.cells.get(index));
        let cell =
            cell.ok_or_else(|| Usage(format!("run {run} has no cell {place}: they are numbered from 1 to {count}")))?;
        return Ok(BTreeSet::from([cell.id.clone()]));
    }
    let lower = typed.to_lowercase();
    let fits = |cell: &&CellRecord| cell.id.starts_with(&lower) || cell.label.to_lowercase().contains(&lower);
    let ids: BTreeSet<String> = record.cells.iter().filter(fits).map(|cell| cell.id.clone()).collect();
    if ids.is_empty() {
        return Err(Usage(format!(
            "run {run} has no cell whose id begins with {typed:?} or whose label contains it; name one by its label or its \
             number, 1 to {count}"
        )));
    }
    Ok(ids)
}

/// The figures of limits; programs have each source as a value, too.
fn limits_text(record: &RunRecord, format: Format) -> String {
    let figures = known_limits(record);
    let table = limits_table(&figures);
    if !matches!(format, Format::Json) {
        return printing::part(&table, format);
    }
    let mut rows = serde_json::to_value(table.json()).expect("a table is JSON");
    for (row, figure) in rows.as_array_mut().into_iter().flatten().zip(&figures) {
        row["seen"] = serde_json::to_value(&figure.source).expect("a source is JSON");
    }
    Schema::Limits.rows(rows)
}

/// One row for each figure of a limit.
fn limits_table(figures: &[LimitFigure]) -> Table {
    let mut table = Table::new(&[
        Column::words("volume", "volume"),
        Column::words("loads", "loads"),
        Column::words("limit", "limit"),
        Column::words("quantity", "quantity"),
        Column::numbers("value", "value"),
        Column::numbers("low", "low"),
        Column::numbers("high", "high"),
        Column::words("known", "known"),
        Column::words("from", "source"),
    ]);
    let text = |quantity: Quantity, value: f64| match quantity {
        Quantity::RequestsPerS | Quantity::BurstRequestsPerS => figures::iops(value),
        Quantity::BytesPerS => figures::megabytes_per_s(value),
        Quantity::BreakPointBytes => loadline_units::Bytes::new(value as u64).human(),
        Quantity::LatencyNs | Quantity::WindowNs | Quantity::BurstNs => {
            loadline_units::Duration::from_ns(value as u64).human()
        }
    };
    for figure in figures {
        let quantity = serde_json::to_value(figure.quantity).expect("a quantity is a word");
        let number = |value: Option<f64>| match value {
            Some(value) => Field::both(text(figure.quantity, value), value),
            None => Field::both("-", serde_json::Value::Null),
        };
        let known = match (figure.inferred, figure.told) {
            (false, _) => "declared",
            (true, true) => "inferred",
            (true, false) => "presumed",
        };
        table.push(vec![
            Field::text(&figure.volume),
            Field::text(&figure.loads),
            Field::text(figure.limit.name()),
            Field::text(quantity.as_str().unwrap_or_default()),
            number(Some(figure.value)),
            number(figure.low),
            number(figure.high),
            Field::text(known),
            Field::text(words::limit_source(&figure.source)),
        ]);
    }
    table
}

/// One row for each interval and operation, or step of an application, that occurred in it.
fn series(record: &RunRecord) -> Table {
    let mut table = Table::new(&[
        Column::words("cell", "cell"),
        Column::words("volume", "volume"),
        Column::words("load", "load"),
        Column::numbers("trial", "trial"),
        Column::numbers("second", "second"),
        Column::words("operation", "operation"),
        Column::numbers("requests", "requests"),
        Column::numbers("bytes", "bytes"),
        Column::numbers("p50", "p50_ns"),
        Column::numbers("p99", "p99_ns"),
        Column::numbers("max", "max_ns"),
        Column::numbers("outstanding", "outstanding"),
        Column::numbers("errors", "errors"),
    ]);
    let latency = |ns: u64| Field::both(loadline_units::Duration::from_ns(ns).human(), ns);
    let absent = || Field::both("-", serde_json::Value::Null);
    for cell in &record.cells {
        for trial in &cell.trials {
            let interval = u64::from(trial.series.interval_s);
            for (index, second) in trial.series.seconds.iter().enumerate() {
                let mut row = |operation: Field, requests, bytes, times: [Field; 3]| {
                    let mut row = vec![
                        Field::text(&cell.id),
                        Field::text(&cell.volume),
                        Field::text(&cell.label),
                        Field::count(trial.trial.into()),
                        Field::count(index as u64 * interval),
                        operation,
                        Field::count(requests),
                        Field::count(bytes),
                    ];
                    row.extend(times);
                    row.push(Field::both(format!("{:.1}", second.outstanding), second.outstanding));
                    row.push(Field::count(second.errors));
                    table.push(row);
                };
                let answered = Operation::ALL.into_iter().map(|operation| (operation, second.of(operation)));
                for (operation, of) in answered.filter(|(_, of)| of.count > 0) {
                    let times = [of.p50_ns, of.p99_ns, of.max_ns].map(latency);
                    row(Field::text(operation.name()), of.count, of.bytes, times);
                }
                let steps = trial.steps.iter().filter_map(|(name, step)| Some((name, step.series.get(index)?)));
                for (name, of) in steps.filter(|(_, of)| of.count > 0) {
                    let times = [of.p50_ns, of.p99_ns, of.max_ns].map(latency);
                    row(Field::text(name.name()), of.count, of.bytes, times);
                }
                // What waited, or failed, where nothing was answered.
                let nothing = Operation::ALL.iter().all(|operation| second.of(*operation).count == 0);
                if nothing && (second.outstanding > 0.0 || second.errors > 0) {
                    row(absent(), 0, 0, [absent(), absent(), absent()]);
                }
            }
        }
    }
    table
}

/// `rm`: all of the runs, or none when one of them is not there.
pub(crate) fn rm(arguments: &RmArguments, store: &Store) -> anyhow::Result<Outcome> {
    let ids = arguments.runs.iter().map(|run| store.resolve(run)).collect::<Result<Vec<_>, _>>()?;
    for id in ids {
        if arguments.dry_run {
            let of = store.load(&id).map_or_else(|_| "it cannot be read".to_owned(), |record| record.header.name);
            output::print(&format!("would remove run {id} ({of})\n"))?;
            continue;
        }
        // A run that cannot be read can still be removed.
        let left = store.load(&id).map_or_else(|_| Vec::new(), |record| left_behind(&record));
        store.remove(&id)?;
        output::tell(&format!("removed run {id}"));
        for Leftover { path, size } in left {
            output::tell(&format!(
                "its test file is still there, and nothing needs it any more: {} ({})",
                path.display(),
                size.human()
            ));
        }
    }
    Ok(Outcome::Done)
}

/// `report`: one file over all the runs.
pub(crate) fn report(arguments: &ReportArguments, quiet: bool, store: &Store) -> anyhow::Result<Outcome> {
    if arguments.all {
        return pages::write(arguments, quiet, store);
    }
    let mut ids: Vec<String> = Vec::new();
    for typed in &arguments.runs {
        let id = store.resolve(typed)?;
        // Named twice, perhaps by its id and as "last", it is one run all the same.
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    if ids.is_empty() {
        ids.push(load_part(store, None, arguments.time)?.header.id);
    }
    let path = arguments.output.clone().unwrap_or_else(|| report_name(&ids));
    let form = ReportForm::of(&path)?;
    let file = output_file::report(&path, arguments.force)?;
    let mut records = ids.iter().map(|id| load_part(store, Some(id), arguments.time)).collect::<Result<Vec<_>, _>>()?;
    // Hours of one recorder are one watch.
    records.dedup_by(|a, b| a == b);
    let mut outcome = Outcome::Done;
    if let Some(objective) = arguments.objective {
        for record in &mut records {
            record.judge_by(objective);
        }
        let all = || records.iter().map(judged);
        outcome = [Outcome::Against, Outcome::Inconclusive]
            .into_iter()
            .find(|one| all().any(|of| of == *one))
            .unwrap_or(outcome);
    }
    let summed = |record: RunRecord| anyhow::Ok((summary_in(store, &record)?, record));
    let summarized = records.into_iter().map(summed).collect::<anyhow::Result<Vec<_>>>()?;
    let summarized: Vec<(RunRecord, RunSummary)> = summarized.into_iter().map(|(s, r)| (r, s)).collect();
    let text = match form {
        ReportForm::Html => {
            let pairs: Vec<(&RunRecord, &RunSummary)> = summarized.iter().map(|(r, s)| (r, s)).collect();
            let answers = answers(&summarized);
            let compared = (pairs.len() > 1).then(|| compare::on_page(summarized.iter().map(|(record, _)| record)));
            loadline_report::html_with_answers(&pairs, &answers, compared.flatten().as_ref())
        }
        ReportForm::Markdown => {
            let part = |((_, summary), answer): (&(RunRecord, RunSummary), Option<RunAnswer>)| match answer {
                Some(answer) => format!("{}\n{}", answer.markdown("##"), loadline_report::markdown(summary)),
                None => loadline_report::markdown(summary),
            };
            summarized.iter().zip(answers(&summarized)).map(part).collect::<Vec<_>>().join("\n")
        }
    };
    output_file::write(&file, output_file::marked(&text))?;
    output::tell(&format!("report: {}", path.display()));
    Ok(outcome)
}

/// A stored run summed up, with what its user says of it.
pub(crate) fn summary_in(store: &Store, record: &RunRecord) -> anyhow::Result<RunSummary> {
    let mut summary = summarized(record);
    summary.run.tags = store.tags(&record.header.id)?;
    Ok(summary)
}

/// What each run of a report answers beside the figures of its loads; what their kind adds to the comparison stands with the last.
fn answers(runs: &[(RunRecord, RunSummary)]) -> Vec<Option<RunAnswer>> {
    let mut all: Vec<Option<RunAnswer>> =
        runs.iter().map(|(record, _)| KindAnswer::of(record).map(|answer| answer.in_report())).collect();
    if let Some(compared) = KindComparison::of(runs.iter().map(|(record, _)| record))
        && let Some(Some(last)) = all.last_mut()
    {
        last.tables.extend(compared.in_report());
    }
    all
}

/// Whether a stored run keeps the objective that it is judged by.
fn judged(record: &RunRecord) -> Outcome {
    match run_verdict(record) {
        RunVerdict::Broken => Outcome::Against,
        RunVerdict::Unknown => Outcome::Inconclusive,
        RunVerdict::Kept | RunVerdict::WrongData => Outcome::Done,
    }
}

/// What a report is written in.
enum ReportForm {
    Html,
    Markdown,
}

impl ReportForm {
    /// By the ending of the file's name.
    fn of(file: &Path) -> Result<Self, Usage> {
        let extension = file.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("html" | "htm") => Ok(Self::Html),
            Some("md" | "markdown") => Ok(Self::Markdown),
            _ => Err(Usage(format!(
                "{}: a report is HTML or Markdown, so the file ends in .html or .md",
                file.display()
            ))),
        }
    }
}

/// The name of a report over these runs, where none was given.
fn report_name(ids: &[String]) -> PathBuf {
    let more = match ids.len() - 1 {
        0 => String::new(),
        more => format!("-and-{more}-more"),
    };
    format!("loadline-report-{}{more}.html", ids[0]).into()
}

/// When which limit held.
fn incidents(arguments: &ShowArguments, store: &Store) -> anyhow::Result<Outcome> {
    let range = arguments.time.range().unwrap_or_default();
    let run = arguments.run.as_deref().map(|typed| store.resolve(typed)).transpose()?;
    let found = StoredWatch::find(store, run.as_deref(), range.since).and_then(|watch| watch.incidents(store, range));
    let found = found.map_err(watch_usage)?.found();
    let table = incidents_table(&found);
    let format = arguments.printing.format;
    if table.is_empty() && format == Format::Table {
        output::tell("no limit held for 5 s or longer");
        return Ok(Outcome::Done);
    }
    let text = if matches!(format, Format::Json) {
        let mut rows = serde_json::to_value(table.json()).expect("a table is JSON");
        for (row, incident) in rows.as_array_mut().into_iter().flatten().zip(&found) {
            row["caused_by"] = serde_json::to_value(&incident.cause).expect("a cause is JSON");
        }
        Schema::Incidents.rows(rows)
    } else {
        printing::part(&table, format)
    };
    output::print(&text)?;
    Ok(Outcome::Done)
}

/// The run that was typed, or the last; with a time only that part of a watch, of a recorder out of all of its hours.
pub(crate) fn load_part(store: &Store, typed: Option<&str>, time: TimeArguments) -> anyhow::Result<RunRecord> {
    let Some(range) = time.range() else { return load(store, typed.unwrap_or("last")) };
    let run = typed.map(|typed| store.resolve(typed)).transpose()?;
    let watch = StoredWatch::find(store, run.as_deref(), range.since).map_err(watch_usage)?;
    watch.within(store, range).map_err(watch_usage)
}

/// What cannot be found of what was watched is a mistake of what was typed.
pub(crate) fn watch_usage(error: Error) -> anyhow::Error {
    match error {
        Error::Watch(error) => Usage(crate::words::not_watched(&error)).into(),
        error => error.into(),
    }
}

/// The run that was typed.
pub(crate) fn load(store: &Store, typed: &str) -> anyhow::Result<RunRecord> {
    Ok(store.load(&store.resolve(typed)?)?)
}
