//! Which volume each imported job was run on.

use crate::{DeclaredEnvironment, NamedTarget, Refusal};
use loadline_imported::Job;
use loadline_record::{TargetKind, VOLUME_DEFAULT, VolumeFacts};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Where results do not say what was measured.
const UNTOLD: &str = "not told";

/// A job with the name of its volume.
pub(super) type Placed = (String, Job);

/// The volumes of the jobs, in the order in which they come, and each job with the name of its own.
///
/// # Errors
/// [`Refusal::WhichVolume`] where it is not known which volume of the environment a target is.
pub(super) fn assigned(
    jobs: Vec<Job>,
    told: &[NamedTarget],
    declared: Option<&DeclaredEnvironment>,
) -> Result<(Vec<VolumeFacts>, Vec<Placed>), Refusal> {
    let mut targets: Vec<Option<String>> = Vec::new();
    let mut places: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for job in &jobs {
        if !places.contains_key(&job.target) {
            places.insert(job.target.clone(), targets.len());
            targets.push(job.target.clone());
        }
    }
    refuse_absent(told, &targets)?;
    let mut names: Vec<String> = Vec::new();
    let mut taken = TakenNames::default();
    for target in &targets {
        let name = name_of(target.as_deref(), told, declared, targets.len() == 1, &mut taken)?;
        taken.names.insert(name.clone());
        names.push(name);
    }
    let jobs: Vec<Placed> = jobs.into_iter().map(|job| (names[places[&job.target]].clone(), job)).collect();
    let mut own: BTreeMap<&str, Vec<&Job>> = BTreeMap::new();
    for (name, job) in &jobs {
        own.entry(name).or_default().push(job);
    }
    // Each once, in the order in which they come.
    let volumes = names.iter().filter_map(|name| own.remove(name.as_str()).map(|jobs| facts(name, &jobs))).collect();
    Ok((volumes, jobs))
}

/// Names of volumes so far, with the last number behind each name that several targets have.
#[derive(Default)]
struct TakenNames {
    names: BTreeSet<String>,
    numbers: BTreeMap<String, u32>,
}

fn is_within(target: &str, path: &str) -> bool {
    Path::new(target).starts_with(path)
}

/// Refuses a target that the results do not tell of: what was measured elsewhere would be called by its volume's name, or nothing would. Of
/// one that they do not tell, or tell from a folder of their own on, nobody can say that it is another.
fn refuse_absent(told: &[NamedTarget], targets: &[Option<String>]) -> Result<(), Refusal> {
    let may_be = |target: &Option<String>, path: &str| {
        target
            .as_deref()
            .is_none_or(|target| is_within(target, path) || (targets.len() == 1 && !target.starts_with('/')))
    };
    let Some(absent) = told.iter().find(|named| !targets.iter().any(|target| may_be(target, &named.target))) else {
        return Ok(());
    };
    let known = targets.iter().map(|target| target.as_deref().unwrap_or(UNTOLD).to_owned()).collect();
    Err(Refusal::NotInResults { volume: absent.volume.clone(), target: absent.target.clone(), known })
}

/// The name of the volume that a target is.
fn name_of(
    target: Option<&str>,
    told: &[NamedTarget],
    declared: Option<&DeclaredEnvironment>,
    is_only: bool,
    taken: &mut TakenNames,
) -> Result<String, Refusal> {
    let is_there = |path: &str| target.is_some_and(|target| is_within(target, path));
    let sole = if is_only && told.len() == 1 { told.first() } else { None };
    if let Some(named) = told.iter().find(|named| is_there(&named.target)).or(sole) {
        return Ok(named.volume.clone());
    }
    if let Some(declared) = declared {
        let all: Vec<(&str, Option<&str>)> = declared.volumes().collect();
        let found =
            all.iter().find(|(_, path)| path.is_some_and(is_there)).or(if all.len() == 1 { all.first() } else { None });
        return found.map(|(name, _)| (*name).to_owned()).ok_or_else(|| {
            let known = all.iter().map(|(name, _)| (*name).to_owned()).collect();
            Refusal::WhichVolume { target: target.unwrap_or(UNTOLD).to_owned(), known }
        });
    }
    if is_only {
        return Ok(VOLUME_DEFAULT.to_owned());
    }
    // As the target is called, in the letters that a volume's name may have.
    let last = target.and_then(|target| target.rsplit('/').find(|part| !part.is_empty())).unwrap_or(VOLUME_DEFAULT);
    let base: String = last.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    if !taken.names.contains(&base) {
        return Ok(base);
    }
    let number = taken.numbers.entry(base.clone()).or_insert(1);
    loop {
        *number += 1;
        let name = format!("{base}-{number}");
        if !taken.names.contains(&name) {
            return Ok(name);
        }
    }
}

fn facts(name: &str, jobs: &[&Job]) -> VolumeFacts {
    let mut targets: Vec<&str> = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for job in jobs {
        let target = job.target.as_deref().unwrap_or(UNTOLD);
        if known.insert(target) {
            targets.push(target);
        }
    }
    let is_device = |target: &&str| target.starts_with("/dev/") && !target.starts_with("/dev/shm");
    let kind = match jobs {
        _ if jobs.iter().all(|job| job.is_null) => TargetKind::Null,
        _ if targets.iter().all(is_device) => TargetKind::BlockDevice,
        _ => TargetKind::File,
    };
    let reach = |job: &&Job| job.spec.size.map(|size| job.spec.start.get().saturating_add(size.get()));
    let size_bytes = jobs.iter().map(reach).max().flatten();
    let is_buffered = jobs.iter().all(|job| job.spec.buffered);
    VolumeFacts {
        name: name.to_owned(),
        target: targets.join(", "),
        kind,
        size_bytes,
        size_reason: match size_bytes {
            Some(_) => "as far as the jobs reach, by their options".to_owned(),
            None => "the jobs do not say".to_owned(),
        },
        direct: !is_buffered,
        direct_reason: is_buffered.then(|| "the jobs did not ask for it (direct=1)".to_owned()),
        ..VolumeFacts::default()
    }
}
