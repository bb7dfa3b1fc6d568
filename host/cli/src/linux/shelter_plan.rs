//! `shelter FILE plan`: what a shelter would give, printed beside its alternatives, with the verdict last.

use crate::arguments::Format;
use crate::arguments::shelter::PlanArguments;
use crate::failure::{Outcome, Usage};
use crate::shell::in_shell;
use crate::{catalog, environments, output, printing, typed_words};
use loadline_report::words::shelter::{alternative_lines, group_lines, missing_figure, plan_lines, shelter_lines};
use loadline_report::{About, VerdictLine};
use loadline_runs::store_location;
use loadline_shelter_policy::config::ShelterConfig;
use loadline_shelter_policy::plan::{MissingFigure, PlanOutcome, ShelterPlan};
use loadline_shelter_service::{ApplicationRate, DescribedData, PlanError, PlanRequest, ShelterVolume, plan};
use loadline_units::{Bytes, Ratio};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Of an application, where only the rate is typed: the share of reads and the size of a request, as `advise` takes them.
const READS_DEFAULT: Ratio = Ratio::percent(70);
const BLOCK_DEFAULT: Bytes = Bytes::kib(8);

/// Plans, prints groups, alternatives and the verdict.
pub(crate) fn print(
    config: &ShelterConfig,
    file: &Path,
    arguments: &PlanArguments,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let catalog = catalog::paid(arguments.own.catalog.as_deref(), &arguments.priced, &arguments.paying)?;
    let environment = arguments.env.as_deref().map(|typed| environments::read(typed, &catalog)).transpose()?;
    let named = |region: &String| catalog.region_named(region).map_err(|unknown| Usage(unknown.to_string()));
    let region = arguments.region.as_ref().map(named).transpose()?;
    let run = match &arguments.run {
        Some(run) => {
            let store = store_location::store_to_read(&store()?)?;
            Some(store.load(&store.resolve(run)?)?)
        }
        None => None,
    };
    let request = PlanRequest {
        environment,
        disk: arguments.disk.clone(),
        destination: arguments.destination.clone(),
        run,
        data: arguments.size.map(|size| DescribedData { size, files: arguments.files }),
        changes: arguments.changes,
        application: arguments.iops.map(|iops| ApplicationRate {
            iops,
            reads: arguments.reads.unwrap_or(READS_DEFAULT),
            block: arguments.block.unwrap_or(BLOCK_DEFAULT),
        }),
        region,
    };
    let planned = plan(config, &catalog, &request).map_err(usage)?;
    output::print(&match arguments.printing.format {
        Format::Json => output::pretty(&planned),
        format => in_words(&planned, file, format),
    })?;
    Ok(match planned.outcome() {
        PlanOutcome::Kept => Outcome::Done,
        PlanOutcome::Missed => Outcome::Against,
        PlanOutcome::Unknown => Outcome::Inconclusive,
    })
}

/// What the command can do about an environment that says too little.
fn usage(error: PlanError) -> anyhow::Error {
    match error {
        PlanError::Ambiguous { role, .. } => {
            let option = match role {
                ShelterVolume::Destination => "--destination",
                ShelterVolume::Disk => "--disk",
            };
            Usage(format!("{error}: name it with {option} VOLUME")).into()
        }
        error @ PlanError::Volume(_) => Usage(error.to_string()).into(),
        error => error.into(),
    }
}

fn in_words(plan: &ShelterPlan, file: &Path, format: Format) -> String {
    let mut text = String::new();
    let mut section = |heading: &str, lines: &[VerdictLine]| {
        let _ = if format == Format::Markdown { writeln!(text, "## {heading}\n") } else { writeln!(text, "{heading}") };
        let width = lines.iter().map(|line| line.about.name().len()).max().unwrap_or(0);
        for VerdictLine { about, text: said } in lines {
            let about = about.name();
            let _ = if format == Format::Markdown {
                writeln!(text, "- {about}: {said}")
            } else {
                writeln!(text, "  {about:width$}  {said}")
            };
        }
        text.push('\n');
    };
    for group in &plan.groups {
        section(&format!("Group {}", group.group), &group_lines(group));
    }
    section("All groups", &plan_lines(plan));
    section("Beside the alternatives", &alternative_lines(plan));
    if !plan.missing.is_empty() {
        let line = |missing: &MissingFigure| About::subject(given_by(*missing)).says(missing_figure(*missing));
        section("What is unknown, and what gives it", &plan.missing.iter().map(line).collect::<Vec<_>>());
    }
    text.push_str(&printing::verdict(&shelter_lines(plan, next_command(plan, file)), format));
    text
}

/// The command of the next step: it runs as printed.
fn next_command(plan: &ShelterPlan, file: &Path) -> Option<String> {
    let file = in_shell(&file.display().to_string());
    match plan.outcome() {
        PlanOutcome::Kept => Some(format!("loadline shelter {file} status")),
        PlanOutcome::Missed => Some(typed_words::again("").unwrap_or_else(|| format!("loadline shelter {file} plan"))),
        PlanOutcome::Unknown => {
            let mut more: Vec<&str> = plan.missing.iter().filter_map(|missing| example(*missing)).collect();
            more.dedup();
            typed_words::again(&more.join(" "))
        }
    }
}

/// The options that give a figure.
const fn given_by(missing: MissingFigure) -> &'static str {
    match missing {
        MissingFigure::Files => "--size, --files",
        MissingFigure::Changes => "--changes",
        MissingFigure::DiskRate | MissingFigure::DestinationRate | MissingFigure::ReturnRate => "--env or --run",
        MissingFigure::Application => "--env and --iops",
        MissingFigure::Price => "--env",
        MissingFigure::FilesUnseen | MissingFigure::StorePrice => "nothing",
    }
}

/// The same as an example to type.
const fn example(missing: MissingFigure) -> Option<&'static str> {
    match missing {
        MissingFigure::Files => Some("--size 100GiB"),
        MissingFigure::Changes => Some("--changes 20MiB/s"),
        MissingFigure::DiskRate | MissingFigure::DestinationRate | MissingFigure::ReturnRate => Some("--env auto"),
        MissingFigure::Application => Some("--iops 2000 --reads 70% --block 8KiB"),
        MissingFigure::Price | MissingFigure::FilesUnseen | MissingFigure::StorePrice => None,
    }
}
