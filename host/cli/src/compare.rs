//! `compare`: stored runs, or volumes of one run, against the first of them.

use crate::answers::KindComparison;
use crate::arguments::Format;
use crate::arguments::compare::{CannotTell, CompareArguments, FailIf, FigureName};
use crate::catalog;
use crate::failure::{Outcome, Usage};
use crate::{output, output_file, printing, recommendations, stored};
use loadline_analysis::{
    CompareOptions, ComparedSide, Comparison, MonthlyPrice, NextStep, Note, TRIALS_TO_DECIDE, Unpriced, Verdict, Whose,
    compare as compare_runs, scaling_of,
};
use loadline_catalog::{Catalog, Environment, ItemCost, Money};
use loadline_record::{Clock, RunRecord};
use loadline_report::Comparisons;
use loadline_runs::prices::PriceChoice;
use loadline_runs::recording::read_trace;
use loadline_runs::{RecordFileError, catalog_priced, environment_again, read_record, repeated};
use loadline_store::Store;
use loadline_workload::TRIALS_MAX;
use std::collections::BTreeSet;
use std::path::Path;

/// Trials of a prediction's cell, until its differences are distinguished from chance.
const TRIALS_TRIED: [u32; 2] = [3, 6];

/// Compares, prints, and judges where that was asked for.
pub(crate) fn compare(arguments: &CompareArguments, store: &Store) -> anyhow::Result<Outcome> {
    let mut is_stored = true;
    let of_side = |typed: &String| {
        let (record, from_store) = side(typed, store)?;
        is_stored &= from_store;
        Ok(record)
    };
    let records = arguments.runs.iter().map(of_side).collect::<anyhow::Result<Vec<RunRecord>>>()?;
    let junit = arguments.junit.as_deref().map(output_file::junit).transpose()?;
    let added = KindComparison::of(&records);
    let mut comparison = of_records(arguments, records)?;
    if !is_stored {
        // What no store holds is seen side by side in a file.
        let runs: Vec<String> = arguments.runs.iter().map(|typed| crate::shell::in_shell(typed)).collect();
        comparison.command = Some(format!("loadline compare {} --format markdown > comparison.md", runs.join(" ")));
    }
    let nothing_shared = added.is_none() && comparison.against.iter().all(|a| a.cells.is_empty());
    if nothing_shared && arguments.printing.format == Format::Table {
        output::tell("no cell is in both: they are matched by their whole load, and by volume where a run has several");
    }
    output::print(&text(&comparison, added.as_ref(), arguments.printing.format))?;
    if comparison.next_step() == NextStep::CountWork && arguments.printing.format == Format::Table {
        output::tell(
            "--tps BEFORE,NOW takes what the application counts in a second, or the files with the results of pgbench or sysbench",
        );
    }
    if let Some(file) = &junit {
        let text = loadline_exported::junit(&comparison, arguments.cannot_tell == Some(CannotTell::Fail));
        output_file::write(file, text)?;
    }
    if nothing_shared {
        return Ok(Outcome::Inconclusive);
    }
    let Some(FailIf::Worse) = arguments.fail_if else { return Ok(Outcome::Done) };
    let outcome = match (outcome(&comparison), arguments.cannot_tell) {
        (Outcome::Inconclusive, Some(CannotTell::Pass)) => Outcome::Done,
        (Outcome::Inconclusive, Some(CannotTell::Fail)) => Outcome::Against,
        (outcome, _) => outcome,
    };
    let worse: u32 = comparison.against.iter().flat_map(|one| &one.overall).map(|overall| overall.counts.worse).sum();
    match outcome {
        Outcome::Against if worse > 0 => {
            output::tell(&format!("--fail-if worse: {worse} worse, so it fails (status 3)"));
        }
        Outcome::Against => output::tell("--cannot-tell fail: too little is known, so it fails (status 3)"),
        Outcome::Inconclusive => output::tell("--fail-if worse: too little is known to say (status 4)"),
        _ => {}
    }
    Ok(outcome)
}

/// The comparison with what the kind of the runs adds. Loads without a figure that both have are no rows beside that.
fn text(comparison: &Comparison, added: Option<&KindComparison>, format: Format) -> String {
    let Some(added) = added else { return printing::comparison(comparison, format) };
    if format == Format::Json {
        let mut document = serde_json::to_value(loadline_report::ComparisonDocument::of(comparison))
            .expect("a comparison is plain data");
        let (key, value) = added.json();
        document[key] = value;
        return output::pretty(&document);
    }
    let mut cells = comparison.against.iter().flat_map(|against| &against.cells);
    let has_rows = cells.any(|cell| cell.deciding().is_some());
    if !has_rows {
        return added.text(format);
    }
    if format != Format::Table {
        return format!("{}\n{}", printing::comparison(comparison, format), added.text(format));
    }
    // Both have one screen.
    let both = added.draft(format).after(printing::compared(comparison));
    printing::on_screen(&both, &printing::shown_again())
}

/// The comparison of these runs as it was asked for, predictions with more trials where these decide.
pub(crate) fn of_records(arguments: &CompareArguments, mut records: Vec<RunRecord>) -> anyhow::Result<Comparison> {
    if let Some(objective) = arguments.objective {
        for record in &mut records {
            record.judge_by(objective);
        }
    }
    let options = CompareOptions {
        margin: arguments.margin,
        figure: arguments.figure.map(FigureName::figure),
        disks: arguments.disks.clone(),
        volumes: arguments.volumes.clone(),
        counted: arguments.tps.iter().map(|typed| counted(typed)).collect::<anyhow::Result<_>>()?,
    };
    let mut comparison = decided(&mut records, &options)?;
    price(
        &mut comparison,
        &records,
        arguments.region.as_deref(),
        &catalog::paid(None, &arguments.priced, &arguments.paying)?,
    )?;
    comparison.command = next_command(&comparison, &records);
    Ok(comparison)
}

/// The command for the next step. Runs that keep too little for one are seen side by side.
fn next_command(comparison: &Comparison, records: &[RunRecord]) -> Option<String> {
    let first = records.first()?;
    let mut ids: Vec<&str> = records.iter().map(|run| run.header.id.as_str()).collect();
    ids.dedup();
    let beside = || recommendations::report_command(ids.iter().copied());
    match comparison.next_step() {
        NextStep::SideBySide | NextStep::SamePlan | NextStep::CountWork => Some(beside()),
        NextStep::OneSeed => {
            let others = records.iter().filter(|run| run.header.seed != first.header.seed);
            let again: Option<Vec<String>> =
                others.map(|run| recommendations::predicted_again(run, first.header.seed)).collect();
            Some(again.map_or_else(beside, |again| again.join(" && ")))
        }
        NextStep::RealStorage => Some(recommendations::REAL_STORAGE.to_owned()),
        NextStep::MoreTrials => {
            let measured = records.iter().filter(|run| run.header.clock == Clock::Real);
            let again: Option<Vec<String>> =
                measured.map(|run| recommendations::measured_again(run, trials_more(run))).collect();
            // Two runs of one target are measured again by one command: before the next change, and after it.
            let distinct = again.map(|mut again| {
                again.dedup();
                again.join(" && ")
            });
            Some(distinct.unwrap_or_else(beside))
        }
    }
}

/// Trials that tell more than those of this run: as many as usually decide, or where these did not twice as many.
fn trials_more(run: &RunRecord) -> u32 {
    let had = run.cells.iter().map(|cell| cell.trials.len() as u32).max().unwrap_or(0);
    if had < TRIALS_TO_DECIDE { TRIALS_TO_DECIDE } else { (had * 2).min(TRIALS_MAX) }
}

/// What an application counted in a second: a number, or the file with what its load generator printed.
fn counted(typed: &str) -> anyhow::Result<f64> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|per_s| per_s.is_finite() && *per_s > 0.0);
    if let Some(per_s) = number(typed) {
        return Ok(per_s);
    }
    let text = std::fs::read_to_string(typed).map_err(|error| {
        Usage(format!("--tps {typed} is no number above 0, and no file that can be read ({error})"))
    })?;
    let per_s = loadline_imported::work_per_second(&text);
    Ok(per_s.ok_or_else(|| Usage(format!("{typed} is no result of pgbench or sysbench: name the number itself")))?)
}

/// A run of the store, or the one in a file: of a trace, what was watched while it was recorded. Beside it whether the store has it.
fn side(typed: &str, store: &Store) -> anyhow::Result<(RunRecord, bool)> {
    let path = Path::new(typed);
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
        return Ok((from_file(path)?, false));
    }
    match stored::load(store, typed) {
        Err(_) if path.is_file() => Ok((recorded(path)?, false)),
        found => Ok((found?, true)),
    }
}

/// The run of a watch that a trace keeps of its surroundings.
fn recorded(path: &Path) -> anyhow::Result<RunRecord> {
    let (trace, _) = read_trace(path)?;
    let around = trace.recording.and_then(|notes| notes.surroundings);
    let shown = path.display();
    Ok(*around.ok_or_else(|| {
        Usage(format!(
            "{shown} has no surroundings to compare: it was not made by `loadline record`, or that was killed"
        ))
    })?)
}

/// The run in a file of `export --as record`.
pub(crate) fn from_file(path: &Path) -> anyhow::Result<RunRecord> {
    let refused =
        |error: RecordFileError| Usage(format!("{error}; `loadline export RUN --as record -o FILE.json` writes one"));
    Ok(read_record(path).map_err(refused)?)
}

/// The comparison that `compare` makes of these runs without an option.
pub(crate) fn usual(records: &[RunRecord]) -> anyhow::Result<Comparison> {
    let mut records = records.to_vec();
    let comparison = priced(&mut records)?;
    Ok(Comparison { command: next_command(&comparison, &records), ..comparison })
}

/// The same without a command, beside the same trials by the numbers of disks; `None`: they cannot be compared.
pub(crate) fn on_page<'a>(records: impl Iterator<Item = &'a RunRecord>) -> Option<Comparisons> {
    let mut records: Vec<RunRecord> = records.cloned().collect();
    let all = priced(&mut records).ok()?;
    Some(Comparisons { all, by_disks: scaling_of(&records.iter().collect::<Vec<_>>()) })
}

fn priced(records: &mut [RunRecord]) -> anyhow::Result<Comparison> {
    let mut comparison = decided(records, &CompareOptions::default())?;
    price(&mut comparison, records, None, &catalog_priced(None, &PriceChoice::Newest)?)?;
    Ok(comparison)
}

/// The comparison of two runs by the trials that are stored of them: no prediction is made again, and nothing is priced. `None`: they
/// cannot be compared.
pub(crate) fn as_stored(baseline: &RunRecord, other: &RunRecord) -> Option<Comparison> {
    compare_runs(&[baseline, other], &CompareOptions::default()).ok()
}

fn compared(records: &[RunRecord], options: &CompareOptions) -> Result<Comparison, Usage> {
    let runs: Vec<&RunRecord> = records.iter().collect();
    compare_runs(&runs, options).map_err(|error| Usage(error.to_string()))
}

/// The comparison, after the trials of predictions were repeated until nothing is left that chance could decide, or often enough. The
/// doubts are those of the runs as they are stored: trials that were repeated have no others.
fn decided(records: &mut [RunRecord], options: &CompareOptions) -> Result<Comparison, Usage> {
    let stored = compared(records, options)?;
    let mut comparison = stored.clone();
    let counts = |records: &[RunRecord]| -> Vec<(String, usize)> {
        let trials = |run: &RunRecord| run.cells.iter().map(|cell| cell.trials.len()).sum();
        records.iter().map(|run| (run.header.id.clone(), trials(run))).collect()
    };
    let before = counts(records);
    for trials in TRIALS_TRIED {
        let open = |record: &RunRecord| -> BTreeSet<String> {
            let is_of = |side: u32| comparison.sides[side as usize].run == record.header.id;
            let undecided = comparison.against.iter().flat_map(|against| {
                let cells = against.cells.iter().filter(|cell| cell.verdict == Verdict::CannotTell);
                cells.flat_map(move |cell| [(0, &cell.baseline_id), (against.side, &cell.other_id)])
            });
            undecided.filter(|(side, _)| is_of(*side)).map(|(_, id)| id.clone()).collect()
        };
        let more: Vec<Option<RunRecord>> =
            records.iter().map(|record| repeated(record, &open(record), trials)).collect();
        if more.iter().all(Option::is_none) {
            break;
        }
        for (record, more) in records.iter_mut().zip(more) {
            if let Some(more) = more {
                *record = more;
            }
        }
        comparison = compared(records, options)?;
    }
    let after = counts(records);
    for side in &mut comparison.sides {
        let added = before.iter().zip(&after).find(|((id, _), _)| *id == side.run);
        side.trials_added = added.map_or(0, |((_, before), (_, after))| after - before) as u32;
    }
    let cells = comparison.against.iter_mut().flat_map(|one| &mut one.cells);
    for (cell, as_stored) in cells.zip(stored.against.iter().flat_map(|one| &one.cells)) {
        cell.baseline_doubts.clone_from(&as_stored.baseline_doubts);
        cell.other_doubts.clone_from(&as_stored.other_doubts);
    }
    Ok(comparison)
}

/// Enters what each side costs a month, where its run keeps an environment: in the region that was named, or else in the first that has
/// a price for everything of all sides. Where no region has, as for disks of two providers, each side has the region that knows most of
/// its own, and is marked with it. What has no price at all has a note that says why.
fn price(
    comparison: &mut Comparison,
    records: &[RunRecord],
    region: Option<&str>,
    catalog: &Catalog,
) -> anyhow::Result<()> {
    let named = |region: &str| catalog.region_named(region).map_err(|unknown| Usage(unknown.to_string()));
    let region = region.map(named).transpose()?;
    let region = region.as_deref();
    let environments: Vec<Option<Environment>> = records.iter().map(|run| environment_again(run, None).ok()).collect();
    let of_side = |side: &ComparedSide| {
        let place = records.iter().position(|run| run.header.id == side.run)?;
        environments[place].as_ref()
    };
    let sold: Vec<Option<&Environment>> = comparison.sides.iter().map(of_side).collect();
    if comparison.sides.iter().any(|side| side.volume.is_some()) || sold.iter().all(Option::is_none) {
        return Ok(());
    }
    let costs = |region: &str| -> Vec<Option<BillSum>> {
        sold.iter().map(|environment| monthly(&environment.as_ref()?.bill(catalog, region))).collect()
    };
    let all_known = |costs: &[Option<BillSum>]| {
        costs.iter().zip(&sold).all(|(cost, sold)| sold.is_none() || cost.is_some_and(|cost| cost.complete))
    };
    let shared = match region {
        Some(region) => Some(costs(region)),
        None => catalog.regions().iter().map(|region| costs(region)).find(|costs| all_known(costs)),
    };
    for ranked in &mut comparison.ranking {
        let side = ranked.side as usize;
        let (cost, own) = match &shared {
            Some(found) => (found[side], None),
            None => sold[side]
                .and_then(|sold| in_own_region(sold, catalog))
                .map_or((None, None), |(cost, region)| (Some(cost), Some(region))),
        };
        if let Some(BillSum { month, complete, estimated }) = cost {
            let price = MonthlyPrice { amount: month.amount(), currency: month.currency().to_string() };
            (ranked.price_month, ranked.price_complete) = (Some(price), complete);
            ranked.price_estimated = estimated;
            ranked.price_region = own;
        }
    }
    comparison.rank_ties_by_price();
    let without = |side: u32| {
        let is_priced = comparison.ranking.iter().any(|ranked| ranked.side == side && ranked.price_month.is_some());
        sold[side as usize].filter(|_| !is_priced).map(|sold| unpriced(sold, catalog, region))
    };
    let note = |whose, side| Some(Note::Price { whose, reasons: without(side)? });
    let of_baseline = note(Whose::Baseline, 0);
    let of_others: Vec<Option<Note>> = comparison.against.iter().map(|one| note(Whose::Other, one.side)).collect();
    for (against, own) in comparison.against.iter_mut().zip(of_others) {
        against.notes.extend(of_baseline.clone().into_iter().chain(own));
    }
    Ok(())
}

/// What an environment costs in the region that knows most of it, of equals the first.
fn in_own_region(sold: &Environment, catalog: &Catalog) -> Option<(BillSum, String)> {
    let of = |region: String| {
        let bill = sold.bill(catalog, &region);
        let known = bill.iter().filter(|item| item.monthly().is_some()).count();
        Some((known, monthly(&bill)?, region))
    };
    let found: Vec<(usize, BillSum, String)> = catalog.regions().into_iter().filter_map(of).collect();
    let most = found.iter().map(|(known, sum, _)| (sum.complete, *known)).max()?;
    let best = found.into_iter().find(|(known, sum, _)| (sum.complete, *known) == most)?;
    Some((best.1, best.2))
}

/// Why nothing of an environment has a price.
fn unpriced(sold: &Environment, catalog: &Catalog, region: Option<&str>) -> Vec<Unpriced> {
    let named = region.map(str::to_owned).or_else(|| catalog.regions().into_iter().next()).unwrap_or_default();
    let mut distinct: Vec<Unpriced> = Vec::new();
    for item in sold.bill(catalog, &named) {
        let reason = match &item.each {
            ItemCost::Unknown(error) => Unpriced::NotInCatalog { error: error.to_string() },
            _ => Unpriced::NotSold,
        };
        if !distinct.contains(&reason) {
            distinct.push(reason);
        }
    }
    distinct
}

/// The sum of a bill.
#[derive(Debug, Clone, Copy)]
struct BillSum {
    month: Money,
    /// Whether nothing is missing in it.
    complete: bool,
    /// Whether a part of it is an estimate.
    estimated: bool,
}

/// The sum of the known amounts.
fn monthly(items: &[loadline_catalog::Item]) -> Option<BillSum> {
    let known: Vec<Money> = items.iter().filter_map(loadline_catalog::Item::monthly).collect();
    let sum = known.iter().skip(1).try_fold(*known.first()?, |sum, more| sum.plus(*more))?;
    let complete = items.iter().all(|item| matches!(item.each, ItemCost::Monthly(_) | ItemCost::WithMachine));
    Some(BillSum { month: sum, complete, estimated: items.iter().any(loadline_catalog::Item::is_estimated) })
}

/// Against when anything is worse; inconclusive when nothing is and an overall verdict is missing or cannot be told, or a cell
/// that the baseline has figures for has none.
fn outcome(comparison: &Comparison) -> Outcome {
    let cells = || comparison.against.iter().flat_map(|a| &a.cells);
    let overall = || comparison.against.iter().flat_map(|a| &a.overall);
    if cells().any(|c| c.verdict == Verdict::Worse) || overall().any(|o| o.verdict == Verdict::Worse) {
        return Outcome::Against;
    }
    let untold = comparison.against.iter().any(|a| a.overall.is_empty())
        || overall().any(|o| o.verdict == Verdict::CannotTell)
        || cells().any(|c| c.deciding().is_none());
    if untold { Outcome::Inconclusive } else { Outcome::Done }
}
