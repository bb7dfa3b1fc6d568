//! `advise`: from a need to a ranked list, with its verdict last.

mod judge;
mod need;
mod page_address;
mod text;

use self::judge::{advice_on_trace, assumed_words, priced_catalog};
use self::need::{need_of, refuse_latency};
use self::page_address::page_address;
use self::text::in_words;
use crate::arguments::advise::{AdviseArguments, ScriptName};
use crate::arguments::{CommandLine, Format, Verb};
use crate::failure::{Outcome, Usage};
use crate::schema::Schema;
use crate::sweep::{RowsPlace, SweepView};
use crate::{emulate, explore_verb, output, output_file};
use clap::Parser as _;
pub(crate) use judge::advised;
use loadline_advise::{Advice, AdviceDoubtCode, AdviceOptions, Candidate, Need, Script, script};
use loadline_report::advice_document;
use loadline_report::advice_html;
use loadline_report::words::sweep::{SweptNeeds, needs_lines};
use loadline_runs::sweep::{AdviceSweep, SweptNeed, advice_frame, described_in};
use loadline_runs::{InputKind, catalog_texts};
pub(crate) use need::completed;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The columns of a sweep that people are shown.
const SHOWN: [(&str, &str); 8] = [
    ("need", "need"),
    ("rank", "rank"),
    ("meets", "meets it"),
    ("choice", "choice"),
    ("price_month_amount", "a month"),
    ("price_month_currency", "currency"),
    ("binding_limit", "limit"),
    ("problem", "problem"),
];
/// Where the environment of an emulated row goes.
const ENVIRONMENT_DEFAULT: &str = "advised.toml";

/// Advises, prints the rows and the verdict.
pub(crate) fn advise(
    arguments: &AdviseArguments,
    quiet: bool,
    store: impl Fn() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    if let Some(folder) = arguments.need.iter().find(|path| path.is_dir()) {
        return many(arguments, folder, quiet);
    }
    if let Some(option) = arguments.sweep.typed() {
        return Err(Usage(format!("{option} is of a folder of needs: loadline advise FOLDER")).into());
    }
    refuse_latency(arguments)?;
    let catalog = priced_catalog(arguments)?;
    let (need, notes) = need_of(arguments, &store)?;
    if !quiet {
        for note in &notes {
            output::tell(note);
        }
    }
    let wanted = need.clone();
    let (advice, assumed) = advice_on_trace(arguments, need, &catalog)?;
    if !quiet {
        for assumption in &assumed {
            output::tell(&assumed_words(assumption));
        }
    }
    if let Some(path) = &arguments.output {
        let file = output_file::report(path, arguments.force)?;
        let text = match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => output::pretty(&advice_document(&advice)),
            Some("md") => {
                output_file::marked(&in_words(&advice, &assumed, Format::Markdown, arguments.write_env.as_deref()))
            }
            _ => output_file::marked(&advice_html(&advice)),
        };
        output_file::write(&file, text)?;
    }
    if let Some(path) = &arguments.explore {
        let texts = catalog_texts(arguments.own.catalog.as_deref(), &arguments.priced.prices)?;
        explore_verb::write(path, arguments.force, texts, &page_address(&advice, &wanted, &catalog.providers()))?;
    }
    if let Some(path) = &arguments.write_env {
        write_environment(path, &advice, arguments.row, arguments.force)?;
    }
    if let Some(tool) = arguments.script {
        let row = row_of(&advice, arguments.row)?;
        let text = script(row, &advice.need, tool_of(tool), &catalog).map_err(|error| Usage(error.to_string()))?;
        output::print(&text)?;
        return Ok(outcome(&advice));
    }
    output::print(&match arguments.printing.format {
        Format::Json => output::pretty(&advice_document(&advice)),
        format => in_words(&advice, &assumed, format, arguments.write_env.as_deref()),
    })?;
    if let Some(number) = arguments.emulate {
        let path = arguments.write_env.clone().unwrap_or_else(|| PathBuf::from(ENVIRONMENT_DEFAULT));
        if arguments.write_env.is_none() || number != arguments.row {
            write_environment(&path, &advice, number, arguments.force || arguments.write_env.is_some())?;
        }
        return emulated(&path, quiet, store);
    }
    Ok(outcome(&advice))
}

/// Rows for each need of a folder.
fn many(arguments: &AdviseArguments, folder: &Path, quiet: bool) -> anyhow::Result<Outcome> {
    refuse_latency(arguments)?;
    let of_one: [(&str, bool); 11] = [
        ("a second source of needs", arguments.need.len() > 1),
        ("--from", !arguments.from.is_empty()),
        ("--run", arguments.run.is_some()),
        ("--since", arguments.time.range().is_some()),
        ("--plan", arguments.plan.is_some()),
        ("--iops", arguments.iops.is_some()),
        ("--throughput", arguments.throughput.is_some()),
        ("--write-env", arguments.write_env.is_some()),
        ("--script", arguments.script.is_some()),
        ("--emulate", arguments.emulate.is_some()),
        ("--explore", arguments.explore.is_some()),
    ];
    if let Some((option, _)) = of_one.iter().find(|(_, is_typed)| *is_typed) {
        return Err(Usage(format!("{option} does not go with a folder of needs")).into());
    }
    let needs = described_in(folder, InputKind::Need)?.into_iter().map(SweptNeed::File).collect();
    let sweep = sweep_of(arguments, needs)?;
    let place = RowsPlace::claim(arguments.output.as_deref(), arguments.force, arguments.printing.format)?;
    let progress = SweepView::new(quiet)?;
    let part = arguments.sweep.part();
    let complete = |need: &mut Need| completed(arguments, need).map_err(|error| error.to_string());
    let rows = match progress.ended(sweep.run(part, &complete, arguments.sweep.threads, &progress)) {
        Ok(rows) => rows,
        Err(outcome) => return Ok(outcome),
    };
    place.put(&advice_frame(&rows), &SHOWN, Schema::AdviceRows)?;
    let problems: Vec<&str> = rows.iter().filter_map(|row| row.problem.as_deref()).collect();
    let first = || rows.iter().filter_map(|row| row.candidate.as_ref()).filter(|row| row.rank == 1);
    let lines = needs_lines(&SweptNeeds {
        met: first().filter(|row| row.meets).count(),
        needs: part.of(sweep.len()).len(),
        part: arguments.sweep.part.map(|part| part.to_string()).as_deref(),
        limits: first().map(|row| row.binding.limit.as_str()).collect(),
    });
    place.conclude(lines, &problems, quiet)
}

/// The sweep that was typed.
pub(crate) fn sweep_of(arguments: &AdviseArguments, needs: Vec<SweptNeed>) -> anyhow::Result<AdviceSweep> {
    let options =
        AdviceOptions { rows: arguments.rows, seed: arguments.seed, simulate: !arguments.limits_only, today: None };
    Ok(AdviceSweep::new(needs, &options, Arc::new(priced_catalog(arguments)?)))
}

/// Serves an environment as `emulate` does.
fn emulated(path: &Path, quiet: bool, store: impl FnOnce() -> anyhow::Result<PathBuf>) -> anyhow::Result<Outcome> {
    let typed = [std::ffi::OsStr::new("loadline"), std::ffi::OsStr::new("emulate"), path.as_os_str()];
    let line = CommandLine::try_parse_from(typed).map_err(|error| Usage(error.to_string()))?;
    match &line.verb {
        Verb::Emulate(arguments) => emulate::emulate(arguments, quiet, store),
        _ => unreachable!("it was typed as emulate"),
    }
}

const fn tool_of(name: ScriptName) -> Script {
    match name {
        ScriptName::AzureCli => Script::AzureCli,
        ScriptName::AwsCli => Script::AwsCli,
        ScriptName::Gcloud => Script::Gcloud,
        ScriptName::Terraform => Script::Terraform,
        ScriptName::Bicep => Script::Bicep,
        ScriptName::PowerShell => Script::PowerShell,
    }
}

/// Against where nothing meets the need; inconclusive where only what has no price does, or the source could not do what was
/// needed.
fn outcome(advice: &Advice) -> Outcome {
    if advice.winner().is_none() && advice.unpriced.iter().any(|row| row.meets) {
        Outcome::Inconclusive
    } else if advice.winner().is_none() {
        Outcome::Against
    } else if advice.doubts.iter().any(|doubt| doubt.code() == AdviceDoubtCode::SourceLimited) {
        Outcome::Inconclusive
    } else {
        Outcome::Done
    }
}

fn row_of(advice: &Advice, number: usize) -> Result<&Candidate, Usage> {
    number
        .checked_sub(1)
        .and_then(|index| advice.candidates.get(index))
        .ok_or_else(|| Usage(format!("there is no row {number}: the advice has {}", advice.candidates.len())))
}

fn write_environment(path: &Path, advice: &Advice, row: usize, force: bool) -> anyhow::Result<()> {
    let file = output_file::environment(path, force)?;
    output_file::write(&file, &row_of(advice, row)?.environment)
}
