//! Errors of the library for people: what to change, by the options that are typed.

use crate::engine_words::is_before_load;
pub(crate) use crate::engine_words::lost;
use crate::recommendations::{ENVIRONMENT_SHOWN, PLAN_SHOWN};
use crate::{consent, engine_words};
use loadline_analysis::CompareError;
use loadline_fitting::FitError;
use loadline_hunt::{Obstacle, VaryError};
use loadline_imported::ImportError;
use loadline_prediction::PredictionError;
use loadline_report::words::hunt::not_tried;
use loadline_runs::{
    CellsOfPlan, Concern, EngineError, EntryKind, Error, HostsRefusal, HuntRefusal, ImpossibleCell, RecognitionError,
    Refusal, SweepRefusal, TargetError, WatchError,
};
use loadline_store::StoreError;
use loadline_workload::{FioError, FioRemedy};
use std::error::Error as StdError;
use std::fmt::Write as _;

/// Cells named in a refusal at most, for each reason.
const NAMED_MAX: usize = 3;

/// What one cause in a chain is for people.
pub(crate) fn of(cause: &(dyn StdError + 'static)) -> String {
    if let Some(inner) = cause.downcast_ref::<Box<EngineError>>() {
        return of(&**inner);
    }
    if let Some(inner) = cause.downcast_ref::<Box<Error>>() {
        return of(&**inner);
    }
    if let Some(Error::Refused(refusal)) = cause.downcast_ref::<Error>() {
        return refused(refusal);
    }
    if let Some(Error::Watch(error)) = cause.downcast_ref::<Error>() {
        return not_watched(error);
    }
    if let Some(refusal) = cause.downcast_ref::<Refusal>() {
        return refused(refusal);
    }
    if let Some(words) = engine_words::of(cause) {
        return words;
    }
    if let Some(error) = cause.downcast_ref::<StoreError>() {
        return format!("{error}{}", other_store(error));
    }
    if let Some(error @ PredictionError::Size { .. }) = cause.downcast_ref::<PredictionError>() {
        return format!("{error}, or with --size");
    }
    if let Some(error @ FitError::OfOthers { .. }) = cause.downcast_ref::<FitError>() {
        return format!("{error} (loadline run --on data=nbd+unix:...)");
    }
    if let Some(error @ ImportError::OwnExport { .. }) = cause.downcast_ref::<ImportError>() {
        return format!("{error} (--store FILE)");
    }
    if let Some(error) = cause.downcast_ref::<FioError>() {
        let searches = error.problems.iter().any(|problem| problem.remedy == Some(FioRemedy::FindObjective));
        return format!(
            "{error}{}",
            if searches { "\n--find-objective searches for the load that keeps an objective" } else { "" }
        );
    }
    if let Some(CompareError::DisksTogether) = cause.downcast_ref::<CompareError>() {
        return "how rates grow with the disks does not show where volumes were loaded at the same time (--together): \
                leave the disks out"
            .to_owned();
    }
    match cause.downcast_ref::<Error>() {
        Some(Error::Store(error)) => of(error),
        Some(Error::Engine(error)) => of(error),
        Some(Error::Target(error)) => of(error),
        Some(Error::Import(error)) => of(error),
        Some(Error::Lost { volume, why }) => format!("volume {volume}: {}", lost(why)),
        Some(Error::StoreFolder { .. }) => format!("{cause}; name another place with --store FILE"),
        Some(Error::Recognition(RecognitionError::NoCloud | RecognitionError::NotLinux)) => format!(
            "{cause}: name an environment (`loadline environments` lists those that come along), write one \
             (docs/formats/environment.md), or make one of a measured run: loadline fit RUN -o FILE. What is measured without \
             --env has its limits inferred"
        ),
        Some(Error::NoHome) => format!("{cause}; name a place with --store FILE"),
        Some(Error::NothingFound { run }) => {
            format!(
                "nothing that run {run} wrote is found on its volumes: the data is gone, or --on names other targets"
            )
        }
        Some(Error::NotFilled { .. }) => {
            format!("{cause}: name a target that answers, or --size with a size that fits")
        }
        Some(Error::FilesRemoved { .. }) => format!("{cause}; with --keep a run leaves it for a later check"),
        _ => cause.to_string(),
    }
}

/// Whether a cause is a request that was refused before anything was done.
pub(crate) fn is_refusal(cause: &(dyn StdError + 'static)) -> bool {
    cause.is::<Refusal>() || matches!(cause.downcast_ref::<Error>(), Some(Error::Refused(_) | Error::Recognition(_)))
}

/// Whether a cause shows that nothing was done: what was asked for was refused, is not there, or may not be touched.
pub(crate) fn is_before_all(cause: &(dyn StdError + 'static)) -> bool {
    if let Some(inner) = cause.downcast_ref::<Box<EngineError>>() {
        return is_before_all(&**inner);
    }
    if let Some(inner) = cause.downcast_ref::<Box<Error>>() {
        return is_before_all(&**inner);
    }
    // These stand for what they hold, which is no cause of theirs.
    match cause.downcast_ref::<Error>() {
        Some(Error::Target(error)) => return is_before_all(error),
        Some(Error::Engine(error)) => return is_before_all(error),
        Some(Error::Store(error)) => return is_before_all(error),
        _ => {}
    }
    let is_of_engine = cause.downcast_ref::<EngineError>().is_some_and(is_before_load);
    let is_of_store = matches!(
        cause.downcast_ref::<StoreError>(),
        Some(
            StoreError::Path { .. }
                | StoreError::Corrupt { .. }
                | StoreError::Foreign { .. }
                | StoreError::Newer { .. }
                | StoreError::Open { .. }
                | StoreError::NoSuchRun { .. }
                | StoreError::Ambiguous { .. }
                | StoreError::NoSuchCell { .. }
                | StoreError::BadId { .. }
        )
    );
    is_refusal(cause) || cause.is::<TargetError>() || is_of_engine || is_of_store
}

/// Whether a cause is the user's wish to end, before anything was done.
pub(crate) fn is_stop(cause: &(dyn StdError + 'static)) -> bool {
    matches!(cause.downcast_ref::<Error>(), Some(Error::Stopped { .. } | Error::NotBegun))
}

/// An error with its causes in a line, outermost first. A cause that is quoted already is not repeated.
pub(crate) fn in_a_line(error: &(dyn StdError + 'static)) -> String {
    let mut next = Some(error);
    chain(std::iter::from_fn(|| {
        let cause = next?;
        next = cause.source();
        Some(cause)
    }))
}

/// The same of a chain of causes.
pub(crate) fn chain<'a>(causes: impl Iterator<Item = &'a (dyn StdError + 'static)>) -> String {
    let mut text = String::new();
    let mut last = String::new();
    for cause in causes {
        let cause = of(cause);
        if last.contains(&cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause);
        last = cause;
    }
    text
}

/// The file that was meant without its ending.
fn beside(typed: &str) -> Option<String> {
    let names = ["toml", "fio"].map(|ending| format!("{typed}.{ending}"));
    names.into_iter().find(|name| std::path::Path::new(name).is_file())
}

/// How to use another store, after what is wrong with this one.
fn other_store(error: &StoreError) -> &'static str {
    match error {
        StoreError::Path { .. } | StoreError::Moved { .. } => ", or name another with --store",
        StoreError::Corrupt { .. } => {
            ": name another with --store, or recover what can be read with the sqlite3 shell's .recover"
        }
        StoreError::NoSuchRun { .. } => "; `loadline list` shows what there is",
        StoreError::Foreign { .. } => ": name another file with --store",
        StoreError::Newer { .. } => ", or name another store with --store",
        StoreError::Unwritable { .. } => "; name another with --store",
        StoreError::Open { .. } => " with --store; or ask the store's owner to close it (`loadline list` does)",
        StoreError::Older { .. } => " with --store, or ask its owner to run `loadline list`",
        _ => "",
    }
}

/// Why nothing is watched, or was, with the option that mends it.
pub(crate) fn not_watched(error: &WatchError) -> String {
    let more = match error {
        WatchError::KeptTooShort => ", as in --keep 7d",
        WatchError::OwnStore { .. } => {
            ". Name a store on another disk (--store /mnt/other/loadline.db), or in memory (--store /dev/shm/loadline.db: lost \
             when the machine stops)"
        }
        WatchError::RecorderRuns { .. } => ", or watch without --keep",
        WatchError::NotWatched { .. } => "; `loadline list --verb watch` shows which there are",
        WatchError::NothingThen { watched: None } => "; `loadline watch DEVICE --keep 7d` records",
        WatchError::EndsBefore => ": --until is later than --since",
        _ => "",
    };
    format!("{error}{more}")
}

/// A refusal, with the option that mends it.
fn refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::QuickTime { .. } => format!("--duration: {refusal}"),
        Refusal::QuickSize { .. } => format!("--size: {refusal}"),
        Refusal::NotAgreed(Concern::Memory(found)) => {
            format!("{}. To measure memory all the same: --yes", consent::memory(found))
        }
        Refusal::NotAgreed(Concern::InUse(devices)) => {
            let used: Vec<String> = devices.iter().map(consent::device).collect();
            format!(
                "{}. A measurement would slow them down, so nothing was loaded: a device that is busy for {} of the time is \
                 measured with --yes",
                used.join("; "),
                consent::busy_share()
            )
        }
        Refusal::TooSmall { .. } => format!("{refusal} (loadline run)"),
        Refusal::NoSuchPlan { typed, nearest } => {
            if loadline_catalog::environment_text(typed).is_some() {
                return format!("{typed} is an environment, no plan: `loadline predict {PLAN_SHOWN} --env {typed}`");
            }
            let near = beside(typed).or_else(|| nearest.map(str::to_owned));
            let near = near.map_or(String::new(), |name| format!(" (did you mean {name}?)"));
            format!(
                "there is no file {typed}, and no plan of that name comes with loadline{near}; `loadline plans` lists them"
            )
        }
        Refusal::Contradiction { plan, load, source } => {
            format!("plan {plan:?} with the values from the command line: {load}: {source}")
        }
        Refusal::NothingToMeasure => {
            "every load of the plan writes, and --read-only leaves nothing to measure".to_owned()
        }
        Refusal::NoTarget => "say what to measure: --on PATH, or --on VOLUME=PATH for each of several".to_owned(),
        Refusal::VolumeTwice { volume } => {
            format!("--on names the volume {volume:?} twice: give each its own name, as in --on a=/mnt/a --on b=/mnt/b")
        }
        Refusal::KeepsNothing { load, target } => format!(
            "{load}: verify = true reads back what was written, and {target} keeps nothing; leave verify out, or name \
             storage with --on"
        ),
        Refusal::NoDirectory { load, files, target } => format!(
            "{load}: files = {files} makes test files in a directory, and {target} is none; leave files out, or name a \
             directory with --on"
        ),
        Refusal::Overlap { volumes: [one, other], how } => format!(
            "volumes {one} and {other}: {how}, and what one writes is the other's too; name it once, or measure both only by \
             reading (--read-only)"
        ),
        Refusal::Impossible { count, cells } => impossible(*count, cells),
        Refusal::NoPaths { environment } => format!(
            "no volume of environment {environment:?} says where it is on this machine: write path = \"/mnt/...\" there, or name \
             it with --on VOLUME=PATH"
        ),
        Refusal::NotDeclared(error) => format!("{error}; give the target that name: --on VOLUME=PATH"),
        Refusal::TogetherPlans { plans, volumes } => format!(
            "--together takes one plan for all volumes or one for each: there are {plans} plans and {} volumes ({})",
            volumes.len(),
            volumes.join(", ")
        ),
        Refusal::TogetherCells { counts } => format!(
            "--together puts the loads at the same place of each plan on the volumes: the plans have {counts:?} cells"
        ),
        Refusal::TogetherTrials { volumes: [one, other], trials: [few, many] } => format!(
            "--together runs the loads at the same place of each plan as often: {one} would have {few} trials and {other} {many}; \
             give --trials {}",
            few.max(many)
        ),
        Refusal::NotOnRun(error) => format!("{error}: name it with --on {}=TARGET", error.volume),
        Refusal::IsPrediction { run } => format!(
            "run {run} is a prediction, with nothing to measure: carry on with `loadline predict --resume {run}`"
        ),
        Refusal::NoStore { path } => format!(
            "there is no store at {}: name the one that is meant with --store FILE; `loadline quick` or `loadline run` makes one",
            path.display()
        ),
        Refusal::NoSuchEnvironment { named, is_path: true, .. } => format!(
            "cannot read the environment {named}: there is no such file; give the path of an environment file, or a name that \
             `loadline environments` lists"
        ),
        Refusal::NoSuchEnvironment { named, is_path: false, nearest } => {
            if loadline_workload::preset(named).is_some() {
                return format!(
                    "{named} is a plan, no environment: `loadline predict {named} --env {ENVIRONMENT_SHOWN}`"
                );
            }
            let near = beside(named).or_else(|| nearest.map(str::to_owned));
            let near = near.map_or(String::new(), |near| format!(" (did you mean {near}?)"));
            format!(
                "there is no file {named}, and no environment of that name comes with loadline{near}; `loadline environments` \
                 lists them"
            )
        }
        Refusal::IsCatalogEntry { name, kind } => {
            let part = match kind {
                EntryKind::Disk => format!("[volume.data]\n  disks = [{{ sku = \"{name}\" }}]"),
                EntryKind::SizedDisk => {
                    format!("[volume.data]\n  disks = [{{ sku = \"{name}\", size = \"1 TiB\" }}]")
                }
                EntryKind::Machine => format!("vm = \"{name}\"\n  [volume.data]\n  disks = [...]"),
            };
            format!(
                "{name} is an entry of the catalog, no environment: write a file with\n  schema = 1\n  name = \"mine\"\n  \
                 {part}\nand give its path; `loadline environments` lists those that come along"
            )
        }
        Refusal::NotInResults { volume, target, known } => format!(
            "--on {volume}={target}: the results are of {}, and of nothing there; give one of these, or a folder that it is in",
            known.join(", ")
        ),
        Refusal::WhichVolume { target, known } => format!(
            "which volume of the environment is {target}? Say it with --on VOLUME={target}; there are {}",
            known.join(", ")
        ),
        Refusal::IsEmulation { run } => {
            format!("{refusal}; `loadline show {run}` has what it did, and `loadline emulate` begins another")
        }
        Refusal::NoRealStorage => {
            format!("{refusal}: `loadline predict PLAN --env ENVIRONMENT`, or `loadline import FILE...`")
        }
        Refusal::IsCrawl { run } => format!("{refusal}: carry on with `loadline run --resume {run}`"),
        Refusal::Hosts(refusal) => of_hosts(refusal),
        Refusal::Sweep(refusal @ SweepRefusal::NotApart) => format!("{refusal}; leave out --together and --carry"),
        Refusal::NoCatalogFolder { .. } => format!("--catalog {refusal}"),
        Refusal::Hunt(refusal) => not_hunted(refusal),
        Refusal::NotModelled { load, volume, source } => format!("{load} on {volume}: {}", of(source)),
        Refusal::UnreadablePlan { .. }
        | Refusal::NotAJobFile { .. }
        | Refusal::NotAPlan { .. }
        | Refusal::VolumeName { .. }
        | Refusal::NoObjective
        | Refusal::NoCatalogFile { .. }
        | Refusal::Sweep(SweepRefusal::NothingInFolder { .. })
        | Refusal::NotAnEnvironment { .. }
        | Refusal::UnreadableEnvironment { .. }
        | Refusal::UnreadableResults { .. }
        | Refusal::NoText { .. }
        | Refusal::MachineNotModelled { .. }
        | Refusal::NothingToVerify { .. }
        | Refusal::NoSuchVolume(_)
        | Refusal::RunsTogether { .. } => refusal.to_string(),
    }
}

/// Why runs of hosts do not become one or begin together, with the option that mends it.
fn of_hosts(refusal: &HostsRefusal) -> String {
    match refusal {
        HostsRefusal::IsMerged { .. } => {
            format!("{refusal}: carry on with each, and then `loadline merge` them again")
        }
        HostsRefusal::NotMerged(_) => refusal.to_string(),
        HostsRefusal::NoClocks { .. } => {
            format!("{refusal}; `loadline clock compare HOST... -o FILE` makes such a file")
        }
        HostsRefusal::ClockOfNoHost { .. } => format!("--clock-offset: {refusal}"),
        HostsRefusal::StartPassed { .. } => format!("--start-at: {refusal}; choose a later one for all hosts"),
        HostsRefusal::NoRank => format!("{refusal} Give it with --rank, as in --rank 0/8 for the first of 8"),
        HostsRefusal::StepOfMore { .. } => format!("--hosts: {refusal}; --rank says how many there are"),
        HostsRefusal::StepsDoNotGrow { .. } => format!("--hosts: {refusal}; write --hosts 1,2,4,8"),
        HostsRefusal::InNoStep { .. } => format!("--hosts: {refusal}; leave this host out, or add a step"),
        HostsRefusal::StepsWithoutStart => format!("--hosts: {refusal}: give the same --start-at to all of them"),
        HostsRefusal::RangeWithoutSize { .. } => format!("--own-range: {refusal} with --size, or in the plan"),
        HostsRefusal::RangesDiffer { .. } => format!("--own-range: {refusal}; give one size with --size"),
        HostsRefusal::RangeTooSmall { .. } => format!("--own-range: {refusal}; give more with --size"),
        HostsRefusal::RangeOfDirectory { .. } => format!("--own-range: {refusal}; leave --own-range out"),
    }
}

/// Why there is nothing to hunt for, with the option that mends it.
fn not_hunted(refusal: &HuntRefusal) -> String {
    let listed = |of: &CellsOfPlan| {
        let CellsOfPlan { plan, typed, count } = of;
        format!("plan {plan:?} has {count} cells; `loadline run {typed} --dry-run` lists them")
    };
    match refusal {
        HuntRefusal::Margin => "--margin is a share above 0 % and below 100 %".to_owned(),
        HuntRefusal::WhichCell { of } => format!("say around which cell, with --cell: {}", listed(of)),
        HuntRefusal::NoCell { cell, of } => format!("there is no cell {cell}: {}", listed(of)),
        HuntRefusal::NoCellCalled { called, of } => format!("no cell is called {called:?}: {}", listed(of)),
        HuntRefusal::SeveralCalled { called, count, of } => {
            format!("{count} cells are called {called:?}: name one by its number; {}", listed(of))
        }
        HuntRefusal::Writes { load } => format!("{load} writes, and --read-only forbids it: choose another cell"),
        HuntRefusal::Vary(
            error @ VaryError::Impossible { obstacle: Obstacle::RealStorage | Obstacle::RealMachine, .. },
        ) => format!("--vary {error} (--env FILE)"),
        HuntRefusal::Vary(error) => format!("--vary {error}"),
        HuntRefusal::NothingToVary => {
            "nothing can be varied around this cell; name a factor with --vary to see why not".to_owned()
        }
        HuntRefusal::NothingVaries { settings } => format!("{refusal}\n{}", not_tried(settings)),
        HuntRefusal::Unvaried { .. } => refusal.to_string(),
    }
}

/// The cells, each with its reason, gathered by reason in the order in which it first occurs.
fn impossible(count: usize, impossible: &[ImpossibleCell]) -> String {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for ImpossibleCell { label, why } in impossible {
        let reason = in_a_line(why);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, labels)) => labels.push(label),
            None => reasons.push((reason, vec![label])),
        }
    }
    let of = if count == 1 { "the only cell".to_owned() } else { format!("{} of {count} cells", impossible.len()) };
    let mut text = format!("{of} cannot be run; nothing was measured and nothing is stored:");
    for (reason, labels) in reasons {
        let named = labels.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join("; ");
        let more = match labels.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let _ = write!(text, "\n  {named}{more}:\n    {reason}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_gathered_by_their_reason_and_no_list_is_endless() {
        let cell = |number: usize, load: &str| ImpossibleCell {
            label: format!("cell {number}"),
            why: EngineError::ReadOnly { volume: "data".to_owned(), load: load.to_owned() },
        };
        let all: Vec<_> = (1..=5).map(|number| cell(number, "a mix")).chain([cell(6, "a log")]).collect();
        let [many, one] = [&all[0], &all[5]].map(|cell| in_a_line(&cell.why));
        assert!(many != one);
        assert_eq!(
            impossible(9, &all),
            format!(
                "6 of 9 cells cannot be run; nothing was measured and nothing is stored:\n  cell 1; cell 2; cell 3; and 2 \
                 more:\n    {many}\n  cell 6:\n    {one}"
            )
        );
        assert!(impossible(1, &all[5..]).starts_with("the only cell cannot be run; "));
    }

    #[test]
    fn an_import_of_an_export_names_the_option_through_the_library_too() {
        let own = || ImportError::OwnExport { source_name: "a.json".into() };
        assert_eq!(of(&Error::Import(own())), of(&own()));
        assert!(of(&own()).contains("--store"), "{}", of(&own()));
    }
}
