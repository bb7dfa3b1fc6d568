//! Opens what a run measures: each target once, large enough for its largest cell.

use crate::execution::OpenVolume;
use crate::failure::Usage;
use crate::leftovers;
use crate::output;
use crate::preparation::Work;
use crate::settings::Settings;
use anyhow::{Context, bail};
use loadline_engine::{Access, Keep, Need, Volume};
use loadline_record::VolumeFacts;
use loadline_units::Bytes;
use loadline_workload::{LoadSpec, RunCell};
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// By the volume's name.
pub(crate) type OpenVolumes = BTreeMap<String, OpenVolume>;

/// Opens every target of `settings` for the cells of `work` that stand on it; `run` becomes part of the name of test files
/// that have one. A volume in `before` is opened in the size that it had then: a run is not resumed on another one.
///
/// # Errors
/// [`Usage`] where the cells cannot share one opening; a refusal of the engine.
pub(crate) fn open(work: &Work, settings: &Settings, run: &str, before: &[VolumeFacts]) -> anyhow::Result<OpenVolumes> {
    let access = settings.access();
    let mut opened = BTreeMap::new();
    for named in &settings.targets {
        let cells = || work.cells.iter().filter(|cell| cell.volume == named.volume);
        let mut need = need_of(cells, &named.volume, settings.keep, run)?;
        if let Some(facts) = before.iter().find(|facts| facts.name == named.volume) {
            need.size = Some(Bytes::new(facts.size_bytes));
        }
        let volume = open_one(&named.volume, &named.target, need, largest(cells()), &access)
            .with_context(|| format!("volume {}", named.volume))?;
        opened.insert(named.volume.clone(), OpenVolume { volume, filled: false, lost: false });
    }
    Ok(opened)
}

/// When a target that is slow to open is spoken of.
const OPEN_TIME: Duration = Duration::from_secs(5);
/// And when it is given up: as long as a request may take.
const OPEN_TIME_MAX: Duration = Duration::from_secs(60);

/// [`Volume::open`] on a thread of its own, which storage that does not answer holds in the kernel for as long as it likes.
///
/// # Errors
/// A refusal of the engine; or the target has not been opened for a long time.
pub(crate) fn open_watched(name: &str, target: &str, need: &Need, access: &Access) -> anyhow::Result<Volume> {
    let (opened, wait) = channel();
    let owned = (name.to_owned(), target.to_owned(), need.clone(), access.clone());
    let opening = std::thread::spawn(move || {
        let (name, target, need, access) = owned;
        let _ = opened.send(Volume::open(&name, &target, &need, &access));
    });
    let mut result = wait.recv_timeout(OPEN_TIME);
    if result.as_ref().is_err_and(|error| *error == RecvTimeoutError::Timeout) {
        output::tell(&format!("{target} is slow to open; waiting for it"));
        result = wait.recv_timeout(OPEN_TIME_MAX.saturating_sub(OPEN_TIME));
    }
    match result {
        Ok(result) => Ok(result?),
        Err(RecvTimeoutError::Timeout) => {
            bail!("{target} could not be opened for {} s: its storage does not answer", OPEN_TIME_MAX.as_secs())
        }
        // It can only have panicked.
        Err(RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(opening.join().expect_err("a thread that ends in order has sent its result"))
        }
    }
}

/// How long a volume that stopped answering may take to be closed.
const CLOSE_TIME: Duration = Duration::from_secs(5);

/// Closes the volumes, which removes their test files. Does not wait for long for those that stopped answering.
pub(crate) fn close(opened: OpenVolumes) {
    for (name, open) in opened {
        if !open.lost {
            continue;
        }
        let place = open.volume.facts.path.clone().unwrap_or_default();
        let (closed, wait) = channel();
        // Left behind where the kernel holds it: the process ends without it.
        std::thread::spawn(move || {
            drop(open);
            let _ = closed.send(());
        });
        if wait.recv_timeout(CLOSE_TIME).is_err() {
            output::tell(&format!("volume {name} cannot be closed; what loadline made in {place} may still be there"));
        }
    }
}

/// A load without a size takes what the target offers or what is chosen for a test file; one with a size must have that too.
fn open_one(
    name: &str,
    target: &str,
    mut need: Need,
    largest: Option<Bytes>,
    access: &Access,
) -> anyhow::Result<Volume> {
    let volume = open_watched(name, target, &need, access)?;
    match largest {
        Some(asked) if asked.get() > volume.facts.size_bytes => {
            drop(volume);
            need.size = largest;
            open_watched(name, target, &need, access)
        }
        _ => Ok(volume),
    }
}

fn need_of<'a, I: Iterator<Item = &'a RunCell>>(
    cells: impl Fn() -> I,
    volume: &str,
    keep: bool,
    run: &str,
) -> Result<Need, Usage> {
    let mut kinds: Vec<(bool, u32)> = cells().map(|cell| (cell.spec.buffered, cell.spec.files)).collect();
    kinds.dedup();
    let &[(buffered, files)] = kinds.as_slice() else {
        return Err(Usage(format!(
            "the loads on volume {volume} differ in `buffered` or `files`, but its test files are made once for the \
             whole run: measure them as separate plans"
        )));
    };
    let verify = cells().any(|cell| cell.spec.verify);
    Ok(Need {
        size: if cells().all(|cell| cell.spec.size.is_some()) { largest(cells()) } else { None },
        files,
        writes: cells().any(|cell| cell.spec.writes_any()),
        buffered,
        keep: (keep || verify).then(|| Keep { file_name: Some(file_name(run, volume)), remove_at_end: !keep }),
    })
}

/// The name of a test file that has one.
pub(crate) fn file_name(run: &str, volume: &str) -> String {
    format!("{}{volume}.data", leftovers::name_prefix(run))
}

/// The largest size that a cell names, counted from the start of the target.
fn largest<'a>(cells: impl Iterator<Item = &'a RunCell>) -> Option<Bytes> {
    let end = |spec: &LoadSpec| Some(spec.size? + spec.start * u64::from(spec.files));
    cells.filter_map(|cell| end(&cell.spec)).max()
}
