//! `advise`: from a need to a ranked list, with its verdict last.

use crate::arguments::advise::{AdviseArguments, OsDiskSize, ScriptName};
use crate::arguments::{CommandLine, Format, Verb};
use crate::failure::{Outcome, Usage};
use crate::output;
use crate::sweep::{self, RowsPlace, SweepView};
use crate::typed_plan::read_plan;
use crate::{advised_rows, emulate, output_file, printing, recommendations, typed_words};
use clap::Parser as _;
use loadline_advise::{
    Advice, AdviceDoubtCode, AdviceOptions, Asked, Candidate, Need, NeedNumbers, Rates, Script, advice_html,
    advise as advise_need, script,
};
use loadline_catalog::Catalog;
use loadline_demand::{Demand, DemandError, ReadOptions};
use loadline_report::{COMMAND, VERDICT_LINES_MAX};
use loadline_runs::advice::{
    AssumedPart, Assumption, NeedError, NeedSource, assume_latency, assume_size, assume_usual_latency, followed,
    interval_s, need_of_load, need_of_run, read_need_source,
};
use loadline_runs::sweep::{AdviceSweep, SweptNeed, advice_frame, described_in, swept_catalog};
use loadline_runs::wall_clock;
use loadline_runs::{InputKind, PlanLength, catalog_with, store_location};
use loadline_units::{Bytes, Duration};
use loadline_workload::{LatencyFigure, Objective, parse_objective};
use std::fmt::Write as _;
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
    let catalog = catalog_with(arguments.own.catalog.as_deref())?;
    let (need, notes) = need_of(arguments, &store)?;
    if !quiet {
        for note in &notes {
            output::tell(note);
        }
    }
    let (advice, assumed) = advice_on_trace(arguments, need, &catalog)?;
    if !quiet {
        for assumption in &assumed {
            output::tell(&assumed_words(assumption));
        }
    }
    if let Some(path) = &arguments.output {
        let file = output_file::report(path, arguments.force)?;
        let text = match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => output::pretty(&advice),
            Some("md") => {
                output_file::marked(&in_words(&advice, &assumed, Format::Markdown, arguments.write_env.as_deref()))
            }
            _ => output_file::marked(&advice_html(&advice)),
        };
        output_file::write(&file, text)?;
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
        Format::Json => output::pretty(&advice),
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

/// Limits alone say nothing of a latency: one that is typed beside them would not be kept.
fn refuse_latency(arguments: &AdviseArguments) -> Result<(), Usage> {
    let typed = [("--p99", arguments.p99.is_some()), ("--objective", arguments.objective.is_some())];
    match typed.into_iter().find(|(_, is_typed)| arguments.limits_only && *is_typed) {
        Some((option, _)) => Err(Usage(format!(
            "--limits-only judges no latency, so {option} would not be kept: leave out --limits-only to keep it, or {option}"
        ))),
        None => Ok(()),
    }
}

/// Rows for each need of a folder.
fn many(arguments: &AdviseArguments, folder: &Path, quiet: bool) -> anyhow::Result<Outcome> {
    refuse_latency(arguments)?;
    let of_one: [(&str, bool); 9] = [
        ("a second source of needs", arguments.need.len() > 1),
        ("--from", !arguments.from.is_empty()),
        ("--run", arguments.run.is_some()),
        ("--plan", arguments.plan.is_some()),
        ("--iops", arguments.iops.is_some()),
        ("--throughput", arguments.throughput.is_some()),
        ("--write-env", arguments.write_env.is_some()),
        ("--script", arguments.script.is_some()),
        ("--emulate", arguments.emulate.is_some()),
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
    place.put(&advice_frame(&rows), &SHOWN)?;
    let problems: Vec<&str> = rows.iter().filter_map(|row| row.problem.as_deref()).collect();
    let (line, outcome) = sweep::problems(problems.len(), problems.first().copied());
    let first = || rows.iter().filter_map(|row| row.candidate.as_ref()).filter(|row| row.rank == 1);
    let met = first().filter(|row| row.meets).count();
    let of_part = arguments.sweep.part.map_or_else(String::new, |part| format!(" of part {part}"));
    let said = |about: &str, text: String| (about.to_owned(), text);
    let needs = part.of(sweep.len()).len();
    let mut lines = vec![said("advised", format!("{met} of {needs} needs{of_part} are met by what is sold"))];
    let limits = first().map(|row| row.binding.limit.as_str());
    lines.extend(sweep::limits_of(limits).map(|limits| said("bound by", limits)));
    lines.extend(line);
    lines.extend(place.line());
    place.conclude(&lines, quiet)?;
    Ok(outcome)
}

/// The sweep that was typed.
pub(crate) fn sweep_of(arguments: &AdviseArguments, needs: Vec<SweptNeed>) -> anyhow::Result<AdviceSweep> {
    let options =
        AdviceOptions { rows: arguments.rows, seed: arguments.seed, simulate: !arguments.limits_only, today: None };
    Ok(AdviceSweep::new(needs, &options, swept_catalog(arguments.own.catalog.as_deref())?))
}

fn advice_on(arguments: &AdviseArguments, need: &Need, catalog: &Catalog) -> Result<Advice, Usage> {
    let options = AdviceOptions {
        rows: arguments.rows,
        seed: arguments.seed,
        simulate: !arguments.limits_only,
        today: Some(wall_clock::now().to_string()),
    };
    advise_need(need, catalog, &options).map_err(|error| Usage(error.to_string()))
}

/// The advice that was asked for and what was assumed, for a caller that prints it itself.
pub(crate) fn advised(
    arguments: &AdviseArguments,
    store: &impl Fn() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<(Advice, Vec<String>)> {
    refuse_latency(arguments)?;
    let catalog = catalog_with(arguments.own.catalog.as_deref())?;
    let (need, mut notes) = need_of(arguments, store)?;
    let (advice, assumed) = advice_on_trace(arguments, need, &catalog)?;
    notes.extend(assumed.iter().map(assumed_words));
    Ok((advice, notes))
}

/// Advice on a need that its trace completes. Where nothing keeps the latency that was assumed, the usual rule is taken instead: nobody asked
/// for more.
fn advice_on_trace(
    arguments: &AdviseArguments,
    mut need: Need,
    catalog: &Catalog,
) -> anyhow::Result<(Advice, Vec<Assumption>)> {
    let mut assumed: Vec<Assumption> = assume_size(&mut need).into_iter().collect();
    if need.size == Bytes::ZERO {
        return Err(Usage(format!("{}: --size 500GiB", NeedError::NoSize)).into());
    }
    if !arguments.limits_only {
        assumed.extend(assume_latency(&mut need));
    }
    let mut advice = advice_on(arguments, &need, catalog)?;
    let is_met = |advice: &Advice| advice.winner().is_some() || advice.unpriced.iter().any(|row| row.meets);
    if assumed.iter().any(|found| found.part == AssumedPart::Latency) && !is_met(&advice) {
        let limit = need.objective.map(|found| found.limit.human()).unwrap_or_default();
        assumed.retain(|found| found.part != AssumedPart::Latency);
        assumed.push(assume_usual_latency(
            &mut need,
            &format!("nothing that is sold keeps the trace's own p99 ({limit})"),
        ));
        advice = advice_on(arguments, &need, catalog)?;
    }
    Ok((advice, assumed))
}

/// What was assumed, and the option that says otherwise.
fn assumed_words(assumption: &Assumption) -> String {
    let option = match assumption.part {
        AssumedPart::Size => "--size",
        AssumedPart::Latency | AssumedPart::UsualLatency => "--p99",
    };
    format!("{} ({option} sets another)", assumption.text)
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
    } else if advice.doubts.iter().any(|doubt| doubt.code == AdviceDoubtCode::SourceLimited) {
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

/// The need that was typed, with what was assumed.
fn need_of(
    arguments: &AdviseArguments,
    store: &impl Fn() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<(Need, Vec<String>)> {
    let numbers = NeedNumbers {
        iops: arguments.iops,
        throughput: arguments.throughput,
        reads: arguments.reads,
        block: arguments.block,
        ..NeedNumbers::default()
    };
    let options = ReadOptions { devices: arguments.device.clone(), interval_s: interval_s(arguments.interval) };
    let mut need: Option<(String, Need)> = None;
    let mut demand: Option<(String, Demand)> = None;
    let mut traces = Vec::new();
    let mut notes = Vec::new();
    let both = |one: &str, other: &str| NeedError::Both { one: one.to_owned(), other: other.to_owned() };
    for path in arguments.need.iter().chain(&arguments.from) {
        let name = path.display().to_string();
        match read_need_source(path, &options).map_err(|error| usage(&error))? {
            NeedSource::Need(file) => match &need {
                Some((one, _)) => return Err(usage(&both(one, &name)).into()),
                None => need = Some((name, file.need)),
            },
            NeedSource::Demand(found) => demand = Some(following(demand.take(), name, found)),
            NeedSource::Trace(found, trace) => {
                traces.push(trace);
                demand = Some(following(demand.take(), name, found));
            }
        }
    }
    if let Some(typed) = &arguments.plan {
        let plan = read_plan(typed, PlanLength::Full)?;
        let cells: Vec<_> = plan.cells().map(|(load, _)| load.clone()).collect();
        let cell = arguments.cell.unwrap_or(1);
        let Some(load) = cell.checked_sub(1).and_then(|index| cells.get(index)) else {
            return Err(usage(&NeedError::NoCell { cell, count: cells.len() }).into());
        };
        let found = need_of_load(&plan.name, cell - 1, load).map_err(|error| match error {
            NeedError::NoRate { .. } if numbers.rates().is_some() => None,
            other => Some(other),
        });
        match found {
            Ok(found) => need = Some((typed.clone(), found)),
            Err(Some(error)) => return Err(usage(&error).into()),
            Err(None) => {}
        }
    }
    if let Some(run) = &arguments.run {
        let store = store_location::store_to_read(&store()?)?;
        let record = store.load(&store.resolve(run)?)?;
        let cell = match arguments.cell {
            Some(0) => return Err(usage(&NeedError::NoCell { cell: 0, count: record.cells.len() }).into()),
            typed => typed.map(|cell| cell - 1),
        };
        let (found, said) = need_of_run(&record, cell).map_err(|error| usage(&error))?;
        if let Some((one, _)) = &demand {
            return Err(usage(&both(one, run)).into());
        }
        // What was typed, or stands in a need file, is meant more than what the run was judged by.
        let is_typed = arguments.p99.is_some() || arguments.objective.is_some();
        let (_, whole) = need.get_or_insert_with(|| (run.clone(), Need { objective: None, ..found.clone() }));
        if whole.objective.is_none() && !is_typed {
            whole.objective = found.objective;
            notes.extend(said.map(|said| format!("{said} (--p99 sets another)")));
        }
        if let Asked::Recorded(found) = found.asked {
            demand = Some((run.clone(), found));
        }
    }
    let name = [&need.as_ref().map(|(name, _)| name.clone()), &demand.as_ref().map(|(name, _)| name.clone())]
        .into_iter()
        .flatten()
        .next()
        .cloned();
    let mut found = need.map_or_else(|| Need::steady("the need", Rates::default(), Bytes::ZERO), |(_, need)| need);
    if let Some((name, demand)) = demand {
        if let Some(rates) = numbers.rates().filter(|rates| rates.requests_per_s() > 0.0) {
            let typed = format!("a rate of {:.0} IOPS", rates.requests_per_s());
            return Err(usage(&both(&name, &typed)).into());
        }
        notes.extend(demand.notes.iter().cloned());
        found.name = name;
        found.asked = Asked::Recorded(demand);
        // Of several, none has all requests.
        found.trace = traces.pop().filter(|_| traces.is_empty()).map(Arc::from);
    } else if let Some(rates) = numbers.rates() {
        found.asked = Asked::Steady(rates);
        if arguments.reads.is_none() {
            notes.push("no share of reads was given: 70 % are taken to be reads (--reads)".to_owned());
        }
        if arguments.block.is_none() {
            let size = Bytes::new(rates.size() as u64).human();
            notes.push(if numbers.size_of_both().is_some() {
                format!("requests are taken to be of {size} each: --throughput divided by --iops (--block)")
            } else {
                format!("no size of a request was given: {size} is taken (--block)")
            });
        }
    } else if name.is_none() {
        return Err(Usage(format!("{}: --iops 9000, --from FILE, --plan PLAN or --run RUN", NeedError::Nothing)).into());
    }
    let objective = found.objective_text();
    completed(arguments, &mut found)?;
    if let Some(text) = objective.filter(|_| arguments.limits_only) {
        notes.push(format!("the need has a latency to keep ({text}), and --limits-only judges none"));
    }
    Ok((found, notes))
}

/// One source of a demand after another.
fn following(before: Option<(String, Demand)>, name: String, found: Demand) -> (String, Demand) {
    match before {
        Some((one, before)) => (one, followed(before, found)),
        None => (name, found),
    }
}

/// What was typed beside the source of the need.
pub(crate) fn completed(arguments: &AdviseArguments, need: &mut Need) -> anyhow::Result<()> {
    if let Some(limit) = arguments.p99 {
        need.objective = Some(Objective { of: LatencyFigure::P99, limit });
    }
    if let Some(typed) = &arguments.objective {
        need.objective = Some(parse_objective(typed).map_err(|reason| Usage(format!("--objective: {reason}")))?);
    }
    if arguments.limits_only {
        need.objective = None;
    }
    if need.objective.is_some_and(|found| found.limit == Duration::ZERO) {
        return Err(Usage("--p99: a latency of nothing is kept by no storage".to_owned()).into());
    }
    need.sequential |= arguments.sequential;
    if let Some(size) = arguments.size {
        need.size = size;
    }
    if let Some(growth) = arguments.growth {
        need.growth = growth;
    }
    need.hot = arguments.hot.or(need.hot);
    need.time_met = arguments.time_met.unwrap_or(need.time_met);
    need.sure = arguments.sure.unwrap_or(need.sure);
    let wanted = &mut need.wanted;
    if !arguments.provider.is_empty() {
        wanted.providers.clone_from(&arguments.provider);
    }
    wanted.region = arguments.region.clone().or(wanted.region.take());
    wanted.vcpus = arguments.vcpus.or(wanted.vcpus);
    wanted.memory = arguments.memory.or(wanted.memory);
    if !arguments.machine.is_empty() {
        wanted.machines.clone_from(&arguments.machine);
    }
    if !arguments.disk.is_empty() {
        wanted.disks.clone_from(&arguments.disk);
    }
    wanted.disks_max = wanted.disks_max.min(arguments.disks_max);
    match arguments.os_disk {
        Some(OsDiskSize::None) => wanted.os_disk = None,
        Some(OsDiskSize::Of(size)) => wanted.os_disk = Some(size),
        None => {}
    }
    wanted.cpu_credits &= !arguments.no_cpu_credits;
    // A trace knows the size of its device.
    if need.size == Bytes::ZERO && need.trace.is_none() {
        return Err(Usage(format!("{}: --size 500GiB", NeedError::NoSize)).into());
    }
    Ok(())
}

/// A mistake of the user, with its causes.
fn usage(error: &NeedError) -> Usage {
    let mut text = error.to_string();
    if matches!(error, NeedError::Demand(DemandError::NoTimes { .. })) {
        text.push_str(" (--interval 60s)");
    }
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        let told = cause.to_string();
        if !text.contains(&told) {
            let _ = write!(text, ": {told}");
        }
        next = cause.source();
    }
    Usage(text)
}

/// Rows, what just misses, and the verdict last.
fn in_words(advice: &Advice, assumed: &[Assumption], format: Format, written: Option<&Path>) -> String {
    let mut text = advised_rows::rows(&advice.candidates, format);
    if format == Format::Csv {
        return text;
    }
    let heading = |text: &mut String, words: &str| {
        let _ = if format == Format::Markdown { write!(text, "\n## {words}\n\n") } else { write!(text, "\n{words}\n") };
    };
    let mark = if format == Format::Markdown { "- " } else { "  " };
    if advice.candidates.iter().any(|row| !row.replayed.is_empty()) {
        heading(&mut text, "The recorded requests on each row, without credits for bursts");
        if let Some(found) = &advice.recorded {
            let _ = writeln!(text, "{mark}as recorded: {}", found.words());
        }
        for row in &advice.candidates {
            let all: Vec<String> =
                row.replayed.iter().map(|found| format!("by {} {}", found.by, found.words())).collect();
            let _ = writeln!(text, "{mark}row {}: {}", row.rank, all.join("; "));
        }
    }
    if !advice.misses.is_empty() {
        heading(&mut text, "Cheaper, and just missed");
        for miss in &advice.misses {
            let fix = miss.fix.as_ref().map_or_else(String::new, |fix| {
                format!(" {} would do, at {:.2} {}.", fix.text, fix.amount, miss.candidate.price_month.currency)
            });
            let _ = writeln!(
                text,
                "{mark}{} ({}) {}.{fix}",
                miss.candidate.words(),
                miss.candidate.price_words(),
                miss.text
            );
        }
    }
    if !advice.unpriced.is_empty() {
        heading(&mut text, "Without a complete price");
        for row in &advice.unpriced {
            let missing = row.price_month.items.iter().filter_map(|item| item.missing.as_deref());
            let _ = writeln!(
                text,
                "{mark}{}: {} ({})",
                row.words(),
                row.price_words(),
                missing.collect::<Vec<_>>().join("; ")
            );
        }
    }
    heading(&mut text, "What more and less of the need costs a month, by limits");
    for step in &advice.staircase {
        let amount = step.amount.map_or_else(|| "nothing carries it".to_owned(), |amount| format!("{amount:.2}"));
        let _ = writeln!(text, "{mark}{:.0} %: {amount}  {}", step.times * 100.0, step.choice.as_deref().unwrap_or(""));
    }
    if !advice.curve.is_empty() {
        heading(&mut text, "Cost by the share of time that may be short");
        for point in &advice.curve {
            let amount = point.amount.map_or_else(|| "nothing carries it".to_owned(), |amount| format!("{amount:.2}"));
            let _ = writeln!(
                text,
                "{mark}{:.1} %: {amount}  {}",
                point.short_share * 100.0,
                point.choice.as_deref().unwrap_or("")
            );
        }
    }
    let doubts = advice.doubts.iter().map(|doubt| format!("{}: {}", doubt.code, doubt.detail));
    let of_rows = advice.candidates.iter().flat_map(|row| {
        row.doubts.iter().map(move |doubt| format!("row {}: {}: {}", row.rank, doubt.code, doubt.detail))
    });
    let doubts: Vec<String> = doubts.chain(of_rows).collect();
    if !doubts.is_empty() {
        heading(&mut text, "Doubts");
        for doubt in &doubts {
            let _ = writeln!(text, "{mark}{doubt}");
        }
    }
    heading(&mut text, "Not looked at");
    for note in &advice.not_looked_at {
        let _ = writeln!(text, "{mark}{note}");
    }
    text.push('\n');
    text.push_str(&printing::verdict(&concluded(advice, assumed, written), format));
    text
}

/// The command that makes an environment's disks block devices of this machine, without credits for bursts: so are its figures.
fn emulated_as_said(environment: &Path) -> String {
    let folder = recommendations::unused("disks", "");
    let file = recommendations::in_shell(&environment.display().to_string());
    format!("loadline emulate {file} --bursts empty --attach {}", folder.display())
}

/// Lines of the verdict that give way to the next step, the first of them first.
const GIVE_WAY: [&str; 5] = ["for tests", "10 % more", "unpriced", "cheaper", "binds"];

/// The verdict with the next step. `written` is the file that has the environment of a row by now.
fn concluded(advice: &Advice, assumed: &[Assumption], written: Option<&Path>) -> Vec<(String, String)> {
    let line = |about: &str, text: &str| (about.to_owned(), text.to_owned());
    let mut lines: Vec<(String, String)> =
        advice.verdict_lines.iter().map(|line| (line.about.clone(), line.text.clone())).collect();
    let said: Vec<String> = assumed.iter().map(assumed_words).collect();
    if !said.is_empty() {
        lines.push(line("assumed", &said.join("; ")));
    }
    let (next, command) = match (advice.winner(), written) {
        (Some(_), Some(file)) if advice.recorded.is_some() => {
            ("try it: run the application on an emulation of it", Some(emulated_as_said(file)))
        }
        (Some(_), None) if advice.recorded.is_some() => (
            "write its environment to a file, to run the application on an emulation of it",
            typed_words::again(&format!("--write-env {}", recommendations::unused("advised", "toml").display())),
        ),
        (Some(_), Some(file)) => (
            "see what it does with more load than you need",
            Some(recommendations::predicted(&file.display().to_string())),
        ),
        (Some(_), None) if advice.need.vcpus.is_none() && advice.need.memory_bytes.is_none() => (
            "name the processors and the memory that your application needs: the machine was chosen for its storage alone",
            typed_words::again("--vcpus 4 --memory 16GiB"),
        ),
        (Some(_), None) => (
            "write its environment to a file, to predict, hunt or emulate on it",
            typed_words::again(&format!("--write-env {ENVIRONMENT_DEFAULT}")),
        ),
        (None, _) => (
            "see which choices would do by their limits alone, or what there is",
            typed_words::again_without(&["--p99", "--objective"], "--limits-only")
                .or_else(|| Some("loadline catalog list --kind disk --sort iops".to_owned())),
        ),
    };
    for about in GIVE_WAY {
        if lines.len() + 2 > VERDICT_LINES_MAX {
            lines.retain(|(name, _)| name != about);
        }
    }
    lines.push(line("next", next));
    lines.extend(command.map(|command| line(COMMAND, &command)));
    lines
}
