//! `crawl`: content sources into a full-text index and a database, measured at every station.

use crate::answers::{KindAnswer, KindComparison};
use crate::arguments::Format;
use crate::arguments::crawl::CrawlArguments;
use crate::conclusion::conclude_with;
use crate::crawl_changes::{changes, on_stored, tried};
use crate::failure::{Outcome, Usage};
use crate::terminal::Terminal;
use crate::{environments, output};
use loadline_catalog::{Catalog, Environment};
use loadline_crawl::{Crawl, CrawlMode, CrawlVolumes, EmulatedVolumes, ReaderCommand, resume, serve_documents};
use loadline_pipeline::{Change, CrawlPlan, MadeUpPlan, SourcePlan};
use loadline_record::RunVerb;
use loadline_runs::wall_clock::fresh_seed;
use loadline_runs::{
    InputKind, RunOptions, RunOutcome, StoredRun, catalog_with, read_text, store_location, stored_environment,
};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The plan that comes along: a made-up search farm.
const SEARCH_FARM: &str = "search-farm";

/// Crawls, goes on with a crawl, or tries changes on a stored one.
pub(crate) fn crawl(
    arguments: &CrawlArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    if let Some(run) = &arguments.stored {
        return on_stored(arguments, run, store);
    }
    let changes = changes(arguments)?;
    let catalog = catalog_with(arguments.own.catalog.as_deref())?;
    let format = arguments.printing.format;
    let mut terminal = Terminal::following(&RunVerb::Crawl, &arguments.live, quiet)?;
    if let Some(run) = &arguments.resume {
        let run = StoredRun::claim(store_location::existing_store(&store()?)?, run)?;
        let outcome = resume(run, document_reader(), &mut terminal);
        terminal.close();
        return conclude(&outcome?, &changes, &catalog, format);
    }
    let path = store()?;
    if arguments.env.is_empty() {
        let outcome = new_crawl(arguments, path)?.run(&mut terminal);
        terminal.close();
        return conclude(&outcome?, &changes, &catalog, format);
    }
    let mut records = Vec::new();
    let mut whole = Outcome::Done;
    for typed in &arguments.env {
        let mut crawl = new_crawl(arguments, path.clone())?;
        let environment = environments::read(typed, &catalog)?;
        if arguments.env.len() > 1 {
            let name = arguments.name.as_deref().map_or_else(String::new, |name| format!("{name} "));
            crawl.options.name = Some(format!("{name}{}", environment.name));
        }
        // Emulated disks are there as long as the crawl needs them.
        let disks = emulated(&environment, arguments, &mut crawl)?;
        let outcome = crawl.run(&mut terminal)?;
        drop(disks);
        terminal.close();
        match conclude(&outcome, &changes, &catalog, format)? {
            Outcome::Done => {}
            Outcome::Interrupted => return Ok(Outcome::Interrupted),
            other => whole = other,
        }
        records.push(outcome.record);
    }
    if format != Format::Json
        && let Some(compared) = KindComparison::of(&records)
    {
        output::print(&format!("\n{}", compared.text(format)))?;
    }
    Ok(whole)
}

/// The crawl that was typed.
fn new_crawl(arguments: &CrawlArguments, store: PathBuf) -> anyhow::Result<Crawl> {
    let options = RunOptions { name: arguments.name.clone(), seed: arguments.seed, store: Some(store) };
    let mode = if arguments.incremental { CrawlMode::Incremental } else { CrawlMode::Full };
    let folder = arguments.into.clone();
    let mut crawl = Crawl {
        folder,
        mode,
        documents: document_reader(),
        confirm: arguments.confirm,
        options,
        ..Crawl::of(planned(arguments)?)
    };
    for on in &arguments.on {
        let (volume, folder) = on
            .split_once('=')
            .ok_or_else(|| Usage(format!("--on {on} names no folder: write VOLUME=DIR, such as index=/mnt/a")))?;
        crawl.volumes.set(volume, PathBuf::from(folder)).map_err(|error| Usage(error.to_string()))?;
    }
    Ok(crawl)
}

/// This program again, to read documents. In Python it is the interpreter, which has the command as a module.
pub(crate) fn document_reader() -> Option<ReaderCommand> {
    let program = std::env::current_exe().ok()?;
    let is_python = program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"));
    let words: &[&str] = if is_python { &["-m", "loadline", "read-documents"] } else { &["read-documents"] };
    Some(ReaderCommand { program, arguments: words.iter().map(Into::into).collect() })
}

/// Reads documents for a crawl that started this process.
pub(crate) fn read_documents() -> anyhow::Result<Outcome> {
    serve_documents()?;
    Ok(Outcome::Done)
}

/// The emulated disks of an environment, with the crawl put on them.
fn emulated(
    environment: &Environment,
    arguments: &CrawlArguments,
    crawl: &mut Crawl,
) -> anyhow::Result<EmulatedVolumes> {
    let disks = EmulatedVolumes::attach(environment, arguments.seed.unwrap_or_else(fresh_seed))?;
    for role in &disks.missing {
        output::tell(&format!("{} has no volume {role}: it is on this machine's own disk", environment.name));
    }
    let typed = std::mem::take(&mut crawl.volumes);
    crawl.volumes = CrawlVolumes {
        index: typed.index.or_else(|| disks.volumes.index.clone()),
        data: typed.data.or_else(|| disks.volumes.data.clone()),
        log: typed.log.or_else(|| disks.volumes.log.clone()),
        temporary: typed.temporary,
    };
    crawl.environment = Some(stored_environment(environment));
    Ok(disks)
}

/// What is crawled.
fn planned(arguments: &CrawlArguments) -> anyhow::Result<CrawlPlan> {
    if let Some(seed) = arguments.made_up {
        let site = MadeUpPlan { seed, documents: true, ..MadeUpPlan::default() };
        return Ok(CrawlPlan::of("made-up", vec![SourcePlan::of_made_up("made-up", site)]));
    }
    plan(arguments.what.as_deref().expect("clap asks for what is crawled"))
}

/// The plan of a file, or the usual one for a folder.
fn plan(typed: &str) -> anyhow::Result<CrawlPlan> {
    let path = Path::new(typed);
    if typed.starts_with("http://") || typed.starts_with("https://") {
        let name = typed.split('/').nth(2).filter(|host| !host.is_empty()).unwrap_or("web");
        return Ok(CrawlPlan::of(typed, vec![SourcePlan::of_web(&short(name), typed)]));
    }
    if path.is_dir() {
        let canonical = path.canonicalize()?;
        let name = canonical.file_name().map_or_else(|| "files".to_owned(), |name| name.to_string_lossy().into_owned());
        return Ok(CrawlPlan::of(&name, vec![SourcePlan::of_files(&short(&name), canonical)]));
    }
    if typed == SEARCH_FARM {
        return Ok(CrawlPlan::read(include_str!("crawl/search-farm.toml"), SEARCH_FARM)
            .expect("the plan that comes along is a plan"));
    }
    if !path.exists() {
        return Err(Usage(format!(
            "there is no folder and no plan {typed}: name a folder, a URL, a plan file or search-farm"
        ))
        .into());
    }
    if let Some(plan) = plan_of_database(path) {
        return Err(Usage(format!(
            "{typed} is a SQLite database: a plan names its table. Write these lines into a file, such as rows.toml, with your table and its \
             key. Then: loadline crawl rows.toml\n\n{plan}"
        ))
        .into());
    }
    let text = read_text(path, InputKind::Plan).map_err(|error| Usage(format!("{typed}: {error}")))?;
    Ok(CrawlPlan::read(&text, typed).map_err(|error| Usage(error.to_string()))?)
}

/// Where a file is a SQLite database: a plan that has its rows for a source.
fn plan_of_database(path: &Path) -> Option<String> {
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    let mut first = [0; MAGIC.len()];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first)).ok()?;
    let name = short(&path.file_stem()?.to_string_lossy());
    let file = path.to_string_lossy();
    (first == *MAGIC)
        .then(|| format!("[[source]]\nname = {name:?}\nsql = {file:?}\ntable = \"TABLE\"\nkey = \"KEY\"    # a column of whole numbers"))
}

/// A name within the bound that sources have.
fn short(name: &str) -> String {
    let short: String = name.chars().filter(|letter| !letter.is_control()).take(10).collect();
    if name.len() <= 40 && !name.chars().any(char::is_control) { name.to_owned() } else { short }
}

/// Prints the crawl, with the changes that were tried on it, and says how it came out.
fn conclude(
    outcome: &RunOutcome,
    changes: &[(String, Vec<Change>)],
    catalog: &Catalog,
    format: Format,
) -> anyhow::Result<Outcome> {
    let answer = match KindAnswer::of(&outcome.record) {
        Some(KindAnswer::Crawl(report)) => {
            let tried = tried(report.pipeline(), changes, catalog)?;
            Some(KindAnswer::Crawl(Box::new(report.with_tried(tried))))
        }
        other => other,
    };
    conclude_with(outcome, answer.as_ref(), format)
}
