//! Plans by name or from files: built-in ones, TOML, fio job files.

use super::input_file::{as_text, read_bytes};
use crate::{Error, InputKind, NamedTarget, Refusal};
use loadline_record::{PlanText, RunRecord, VOLUME_DEFAULT};
use loadline_workload::{
    FioFile, FioJobs, FioSurroundings, FioTarget, Plan, fio_command, fio_jobs, fio_jobs_in, is_fio, nearest_preset,
    preset, short_form,
};
use std::io;
use std::path::Path;

/// Whether a plan's own short form is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanLength {
    /// As it stands.
    Full,
    /// Its short form, where it has one.
    Short,
}

/// A plan as it was read.
#[derive(Debug)]
pub struct PlanFile {
    /// The plan.
    pub plan: Plan,
    /// What of a job file means something else here.
    pub notes: Vec<String>,
}

/// Reads a plan: one that is built in, by its name, or a file.
///
/// # Errors
/// A [`Refusal`] where there is no such plan, the file cannot be read, or it is neither a plan nor an fio job file that can be
/// run.
pub fn read_plan(typed: &str, length: PlanLength) -> Result<PlanFile, Refusal> {
    let shortened = if length == PlanLength::Short { short_form(typed) } else { None };
    if let Some(preset) = shortened.or_else(|| preset(typed)) {
        return parsed(preset.text, preset.name);
    }
    if !Path::new(typed).exists() {
        return Err(Refusal::NoSuchPlan { typed: typed.to_owned(), nearest: nearest_preset(typed) });
    }
    let text = plan_text(typed).map_err(|source| Refusal::UnreadablePlan { typed: typed.to_owned(), source })?;
    if !is_fio_job(typed, &text) {
        return parsed(&text, typed);
    }
    let jobs = fio_jobs_in(&text, typed, AROUND);
    let jobs = jobs.map_err(|source| Refusal::NotAJobFile { typed: typed.to_owned(), source })?;
    Ok(PlanFile { plan: jobs.plan, notes: jobs.notes })
}

/// Reads a command line of fio, `fio` as its first word, with what it names to be measured.
///
/// # Errors
/// A [`Refusal`] with each word that cannot be taken.
pub fn read_command(words: &[String]) -> Result<FioJobs, Refusal> {
    fio_command(words, AROUND).map_err(|source| Refusal::NotAJobFile { typed: "the fio command".to_owned(), source })
}

/// The variables and files of this process.
const AROUND: FioSurroundings<'static> =
    FioSurroundings { variable: &|name| std::env::var(name).ok(), keyword: &of_this_machine, file: &included };

/// What fio's keywords stand for here.
fn of_this_machine(keyword: &str) -> Option<u64> {
    match keyword {
        "$ncpus" => crate::host_facts().cpus.map(u64::from),
        "$pagesize" => crate::page_bytes(),
        "$mb_memory" => Some(crate::host_facts().memory_bytes? >> 20),
        _ => None,
    }
}

/// A file that a job file includes: from here, or else from the folder of the file that includes it, as fio looks for it.
fn included(path: &str, from: &str) -> Result<FioFile, String> {
    let beside = Path::new(from).parent().map(|folder| folder.join(path));
    let found = Some(Path::new(path).to_owned()).into_iter().chain(beside).find(|path| path.exists());
    let path = found.ok_or_else(|| format!("{path}: no such file here, or beside {from}"))?;
    let text = plan_text(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(FioFile { path: path.display().to_string(), text })
}

/// What a job file names to be measured, where it is one and names something.
#[must_use]
pub fn targets_named(typed: &str) -> Vec<NamedTarget> {
    let text = plan_text(typed).ok().filter(|text| is_fio_job(typed, text));
    let jobs = text.and_then(|text| fio_jobs_in(&text, typed, AROUND).ok());
    jobs.map(|jobs| named(jobs.targets)).unwrap_or_default()
}

/// Targets of a job file under the names of their volumes.
#[must_use]
pub fn named(targets: Vec<FioTarget>) -> Vec<NamedTarget> {
    let one = |FioTarget { volume, target }| NamedTarget {
        volume: volume.unwrap_or_else(|| VOLUME_DEFAULT.to_owned()),
        target,
    };
    targets.into_iter().map(one).collect()
}

/// fio makes a file that a job names and that is not there. Here its folder takes the place: a test file is made in it, and removed.
/// Gives what is said of each.
#[must_use]
pub fn in_their_folders(targets: Vec<NamedTarget>) -> (Vec<NamedTarget>, Vec<String>) {
    let mut notes = Vec::new();
    let placed = targets.into_iter().map(|NamedTarget { volume, target }| {
        let path = Path::new(&target);
        let folder = path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        let is_path = target.contains('/') && !target.contains("://") && !path.starts_with("/dev");
        let new_in = folder.filter(|folder| is_path && !path.exists() && folder.is_dir());
        let Some(folder) = new_in else { return NamedTarget { volume, target } };
        let folder = folder.display().to_string();
        notes.push(format!("{target} is not there: a test file is made in {folder}, and removed at the end"));
        NamedTarget { volume, target: folder }
    });
    (placed.collect(), notes)
}

/// A stored plan once more.
///
/// # Errors
/// A text that this version does not read.
pub fn read_again(plan: &PlanText) -> Result<Plan, Error> {
    if is_fio(&plan.text) {
        return Ok(fio_jobs(&plan.text, &plan.name)?.plan);
    }
    Ok(Plan::parse(&plan.text, &plan.name)?)
}

fn parsed(text: &str, source: &str) -> Result<PlanFile, Refusal> {
    match Plan::parse(text, source) {
        Ok(plan) => Ok(PlanFile { plan, notes: Vec::new() }),
        Err(error) => Err(Refusal::NotAPlan { typed: source.to_owned(), source: error }),
    }
}

/// The text of a plan. Remarks of a job file may be in Latin-1, as fio takes no notice of them.
fn plan_text(path: impl AsRef<Path>) -> io::Result<String> {
    let bytes = read_bytes(&path, InputKind::Plan)?;
    if std::str::from_utf8(&bytes).is_err() {
        let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        let is_plain = |line: &str| line.split([';', '#']).next().is_some_and(str::is_ascii);
        if text.lines().all(is_plain) && is_fio_job(&path.as_ref().to_string_lossy(), &text) {
            return Ok(text);
        }
    }
    as_text(bytes)
}

/// By its name, or by what is in it.
fn is_fio_job(path: &str, text: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e == "fio") || is_fio(text)
}

/// The plans of a stored run, read once more.
///
/// # Errors
/// A plan that this version does not read.
pub(crate) fn plans_again(stored: &RunRecord) -> Result<Vec<Plan>, Error> {
    stored.header.plans.iter().map(read_again).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_job_file_includes_lies_beside_it_and_is_kept_in_its_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::create_dir(path("sub")).unwrap();
        std::fs::write(path("sub/common.fio"), "size=1g\ninclude more.fio\n").unwrap();
        std::fs::write(path("sub/more.fio"), "rw=randwrite\n").unwrap();
        std::fs::write(path("job.fio"), "[global]\ninclude sub/common.fio\n[j]\ndescription=${PATH}\n").unwrap();
        let error = read_plan(&path("job.fio"), PlanLength::Full).err().map(|error| format!("{error:?}"));
        let plan = read_plan(&path("job.fio"), PlanLength::Full).unwrap_or_else(|_| panic!("{error:?}")).plan;
        assert!(plan.text.contains("size=1g\n") && plan.text.contains("rw=randwrite\n"), "{}", plan.text);
        let stored = PlanText { name: plan.name.clone(), text: plan.text.clone(), hash: String::new() };
        assert_eq!(read_again(&stored).unwrap().loads, plan.loads);
        std::fs::remove_file(path("sub/more.fio")).unwrap();
        let missing = read_plan(&path("job.fio"), PlanLength::Full).unwrap_err();
        assert!(format!("{missing:?}").contains("more.fio: no such file here, or beside"), "{missing:?}");
    }

    #[test]
    fn job_files_are_told_from_plans() {
        assert!(is_fio_job("a", "[global]\nioengine=libaio\nrw=randread\n[job]\n"));
        assert!(is_fio_job("a.fio", ""));
        assert!(is_fio_job("a", "[global] ; of all\n rw=randread\n"));
        assert!(!is_fio_job("a.toml", "schema = 1\nname = \"p\"\n[[load]]\n"));
    }

    #[test]
    fn remarks_of_job_files_may_be_in_latin_1() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.fio");
        let read = |text: &[u8]| {
            std::fs::write(&path, text).unwrap();
            read_plan(path.to_str().unwrap(), PlanLength::Full)
        };
        let job = read(b"; f\xfcr die Platte\n[a] # k\xfcrzer\nrw=read\nsize=1m ; \xe9\n").unwrap();
        assert_eq!(job.plan.loads.len(), 1);
        let named = read(b"[a]\nrw=read\nsize=1m\nfilename=f\xfcr\n").unwrap_err().to_string();
        assert!(named.contains("not UTF-8"), "{named}");
    }
}
