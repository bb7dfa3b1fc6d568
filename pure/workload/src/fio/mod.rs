//! fio job files as plans: each job is a load, what does not change a load is listed, and everything else is refused with its
//! line. `docs/formats/fio.md` has the table of options.

mod arithmetic;
mod command;
mod job;
mod options;
mod reported;
mod text;
mod units;

use crate::plan::{CELLS_MAX, GroupEnd, LoadGroup, Order, Plan, PlanLoad};
pub use command::{fio_command, is_fio_command};
use loadline_load::{Fill, LoadSpec};
use loadline_units::Bytes;
pub use options::fio_harmless;
pub use reported::{ReportedJob, ReportedProblem, reported_job};
use std::collections::{BTreeMap, BTreeSet};
use text::{Expanded, before_comment};
pub use text::{FioFile, FioSurroundings};
use units::Base;

/// Problems that are told at most.
const PROBLEMS_MAX: usize = 20;
/// Problems that are looked for at most.
const PROBLEMS_FOUND_MAX: usize = 10_000;
/// Options over all jobs, those of a global section counted for each job after it.
const OPTIONS_MAX: usize = 2_000_000;
/// What fio replaces in values by itself: how large a page is, how much memory the machine has, and how many CPUs.
pub(crate) const KEYWORDS: [&str; 3] = ["$pagesize", "$mb_memory", "$ncpus"];
/// Joined jobs that are named at most.
const NAMED_MAX: usize = 8;

/// Something in a job file that cannot be taken as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FioProblem {
    /// The file that is included and has the line; `None` for the job file itself.
    pub file: Option<String>,
    /// From 1; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong, and what to do.
    pub message: String,
    /// The part of the remedy that only the program with a command line can name.
    pub remedy: Option<FioRemedy>,
}

/// What a program offers in place of a setting of fio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FioRemedy {
    /// A search for the load that keeps an objective.
    FindObjective,
}

impl FioProblem {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Self { file: None, line, message: message.into(), remedy: None }
    }
}

/// A text that is no job file that can be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", told(.source_name, .problems))]
pub struct FioError {
    /// What the text is called.
    pub source_name: String,
    /// In the order of the text.
    pub problems: Vec<FioProblem>,
}

fn told(source: &str, problems: &[FioProblem]) -> String {
    let told = |problem: &FioProblem| match (problem.file.as_deref(), problem.line) {
        // A word of a command line has no line.
        (Some(word), 0) => format!("{word}: {}", problem.message),
        (file, line) => format!("{}:{line}: {}", file.unwrap_or(source), problem.message),
    };
    let lines = problems.iter().take(PROBLEMS_MAX).map(told);
    let more = problems.len().saturating_sub(PROBLEMS_MAX);
    let rest = (more > 0).then(|| format!("and {more} more"));
    lines.chain(rest).collect::<Vec<_>>().join("\n")
}

/// A job file as a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct FioJobs {
    /// Its jobs, in their order.
    pub plan: Plan,
    /// What it names to be measured: directories and files, each with the name of its volume.
    pub targets: Vec<FioTarget>,
    /// Options that change nothing of the load and were not taken, and what is done otherwise than fio does it, in sentences.
    pub notes: Vec<String>,
}

/// A directory or file that a job file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FioTarget {
    /// The name of its volume; `None` where it is the only one.
    pub volume: Option<String>,
    /// As it is written.
    pub target: String,
}

/// Which jobs end with one (`exitall`, `exit_what`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It alone.
    Itself,
    /// Those of its group in fio's reports.
    Group,
    /// All that run at the same time.
    Together,
}

/// What a job is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To be run.
    Run,
    /// It was run, and its results are to be understood.
    Reported,
}

/// Options by which a job waits for those before it.
const WAITING: [&str; 2] = ["stonewall", "wait_for_previous"];
/// The option by which it waits for one of them.
const WAIT_FOR: &str = "wait_for";

/// One option where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    line: usize,
    value: String,
}

/// The options of a job, those of the global sections before it included; what stands later counts.
type Settings = BTreeMap<String, Setting>;

/// A section of the text.
#[derive(Debug)]
struct Section {
    line: usize,
    name: String,
    settings: Settings,
    /// Jobs that were joined to it.
    joined: usize,
}

/// Whether a text looks like a job file: sections, and `key=value` lines that TOML does not allow.
#[must_use]
pub fn is_fio(text: &str) -> bool {
    const KEYS: [&str; 8] = ["rw", "readwrite", "ioengine", "bs", "blocksize", "filename", "directory", "iodepth"];
    let has_key = |line: &str| {
        let bare =
            |(key, value): (&str, &str)| KEYS.contains(&key.trim()) && !value.trim().starts_with(['"', '\'', '[']);
        line.split_once('=').is_some_and(bare)
    };
    let is_section = |line: &str| line.starts_with('[') && !line.starts_with("[[") && line.ends_with(']');
    let lines = || text.lines().map(before_comment);
    lines().any(is_section) && lines().any(has_key)
}

/// Reads a job file that stands for itself; `source` names the text in errors, and the plan.
///
/// # Errors
/// Every option that would change the load and is not known, and every value that cannot be read, with its line.
pub fn fio_jobs(text: &str, source: &str) -> Result<FioJobs, FioError> {
    fio_jobs_in(text, source, FioSurroundings::NONE)
}

/// As [`fio_jobs`], with the variables and files that the text names. The plan's text has their values and lines in it, so that it
/// stands for itself.
///
/// # Errors
/// As [`fio_jobs`], and a variable that is not set, and a file that cannot be read.
pub fn fio_jobs_in(text: &str, source: &str, around: FioSurroundings<'_>) -> Result<FioJobs, FioError> {
    let mut problems = Vec::new();
    let expanded = Expanded::of(text, source, around, &mut problems);
    read(&expanded.text, source, &mut problems).filter(|_| problems.is_empty()).ok_or_else(|| {
        problems.sort_by(|one, other| (one.line, &one.message).cmp(&(other.line, &other.message)));
        // A fault in a global section is one fault, however many jobs have it.
        problems.dedup();
        let problems = problems.into_iter().map(|problem| expanded.locate(problem)).collect();
        FioError { source_name: source.to_owned(), problems }
    })
}

/// The jobs of a text, unless it has problems.
fn read(text: &str, source: &str, problems: &mut Vec<FioProblem>) -> Option<FioJobs> {
    let sections = sections(text, problems);
    if sections.is_empty() && problems.is_empty() {
        problems.push(FioProblem::new(0, "a job file without a job measures nothing"));
    }
    let mut ignored = Distinct::default();
    let mut notes = Distinct::default();
    let mut read: Vec<ReadJob> = Vec::new();
    let sections = joined(waiting(shared_out(sections, &mut notes), problems), &mut notes);
    if sections.len() > CELLS_MAX {
        let message = format!("its {} jobs are more than the {CELLS_MAX} loads that a plan may have", sections.len());
        problems.push(FioProblem::new(sections[CELLS_MAX].line, message));
    }
    for section in sections.iter().take(CELLS_MAX) {
        if problems.len() > PROBLEMS_FOUND_MAX {
            break;
        }
        let mut job = job::Job::new(section, Purpose::Run, problems);
        let spec = job.load();
        let job::Job { ignored: own, notes: said, target, waits, ends, names_file, file_names, .. } = job;
        ignored.extend(own);
        notes.extend(said);
        if let Err(error) = spec.check() {
            problems.push(FioProblem::new(section.line, format!("[{}]: {error}", section.name)));
        }
        let begins_group = section.settings.get("new_group").is_some_and(|setting| setting.value != "0");
        read.push(ReadJob { line: section.line, spec, target, waits, ends, begins_group, names_file, file_names });
    }
    settle_fills(&mut read, &mut notes);
    let targets = targets(&read);
    let together = groups(&mut read, problems, &mut notes);
    let (ignored, mut notes) = (ignored.0, notes.0);
    if !problems.is_empty() {
        return None;
    }
    if !ignored.is_empty() {
        notes.push(format!("not taken, since they do not change the load: {}", ignored.join(", ")));
    }
    let name = source.rsplit('/').next().unwrap_or(source);
    let name = name.strip_suffix(".fio").unwrap_or(name).to_owned();
    let on = |target: Option<String>| {
        let of = targets.iter().find(|of| Some(&of.target) == target.as_ref());
        // A job that names none goes where the first does.
        of.or(targets.first()).and_then(|of| of.volume.clone())
    };
    let loads: Vec<PlanLoad> = (read.into_iter())
        .map(|job| PlanLoad { cells: vec![job.spec], order: Order::AsListed, on: on(job.target) })
        .collect();
    let plan = Plan { name, description: Some("an fio job file".into()), text: text.to_owned(), loads, together };
    Some(FioJobs { plan, targets, notes })
}

/// A job as it was read.
struct ReadJob {
    line: usize,
    spec: LoadSpec,
    target: Option<String>,
    /// It begins when the jobs before it have ended.
    waits: bool,
    /// Which others end with it.
    ends: Ending,
    /// A group of its own in fio's reports begins with it, which the end of others may leave alone.
    begins_group: bool,
    /// Its file has a name, which other jobs may use as well.
    names_file: bool,
    /// Its files have these names.
    file_names: Option<String>,
}

/// Every target that jobs name, each with the name of its volume where there are several.
fn targets(jobs: &[ReadJob]) -> Vec<FioTarget> {
    let mut distinct = Distinct::default();
    distinct.extend(jobs.iter().filter_map(|job| job.target.clone()));
    if let [only] = distinct.0.as_slice() {
        return vec![FioTarget { volume: None, target: only.clone() }];
    }
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut named = |target: String| {
        let last = target.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let mut name: String =
            last.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            name.insert_str(0, "on-");
        }
        let base = name.clone();
        let mut number = 2;
        while !taken.insert(name.clone()) {
            name = format!("{base}-{number}");
            number += 1;
        }
        FioTarget { volume: Some(name), target }
    };
    distinct.0.into_iter().map(&mut named).collect()
}

/// Which jobs run at the same time: those up to the next that waits. Their test files lie side by side, unless they have a name.
fn groups(jobs: &mut [ReadJob], problems: &mut Vec<FioProblem>, notes: &mut Distinct) -> Vec<LoadGroup> {
    let mut groups = Vec::new();
    let mut first = 0;
    while first < jobs.len() {
        let next = (first + 1..jobs.len()).find(|job| jobs[*job].waits).unwrap_or(jobs.len());
        let members = &mut jobs[first..next];
        if let [lead, others @ ..] = &*members
            && !others.is_empty()
        {
            if let Some(other) = others.iter().find(|other| other.spec.trials != lead.spec.trials) {
                let message =
                    "loops: jobs that run at the same time are repeated as often here: give them the same loops";
                problems.push(FioProblem::new(other.line, message));
            }
            if let Some(job) = members.iter().find(|job| job.spec.end_flush) {
                let message = "end_fsync: a flush at the end is measured of jobs that run alone: write stonewall, or leave it out";
                problems.push(FioProblem::new(job.line, message));
            }
            let share_files = |job: &&ReadJob| {
                members.iter().any(|other| other.target == job.target && other.file_names != job.file_names)
            };
            if let Some(job) = members.iter().filter(|job| job.file_names.is_some()).find(share_files) {
                let message = "filename: test files take the place of several, and jobs that run at the same time would share those of \
                               different names: name the same files, or other folders";
                problems.push(FioProblem::new(job.line, message));
            }
            let ending = members.iter().filter(|job| job.ends != Ending::Itself).count();
            if let Some(job) = members.iter().find(|job| (job.ends == Ending::Itself) != (lead.ends == Ending::Itself))
            {
                let message =
                    "exitall: here the first of the jobs that ends ends all, whichever it is: write it in [global]";
                problems.push(FioProblem::new(job.line, message));
            }
            let leaves_others = members.iter().any(|job| job.ends == Ending::Group);
            if let Some(job) = others.iter().find(|job| leaves_others && job.begins_group) {
                let message = "exitall: in fio a job ends those of its own group, and new_group begins another: leave new_group out, or write \
                               exit_what=stonewall in [global]";
                problems.push(FioProblem::new(job.line, message));
            }
            let ends = if ending > 0 { GroupEnd::First } else { GroupEnd::Each };
            groups.push(LoadGroup { loads: (first..next).collect(), ends });
            notes.add("jobs without stonewall run at the same time".to_owned());
            lay_side_by_side(members);
        }
        first = next;
    }
    groups
}

/// Jobs share the test file of their target here, and fio gives each a file of its own unless they name one: what is filled for one of
/// them is full for all, and what one has written is there for those behind it.
fn settle_fills(jobs: &mut [ReadJob], notes: &mut Distinct) {
    for place in 0..jobs.len() {
        let fill = jobs[place].spec.fill;
        if fill.may_fill() {
            continue;
        }
        let others = |jobs: &[ReadJob], is_so: fn(&ReadJob) -> bool| {
            jobs.iter().any(|other| other.target == jobs[place].target && is_so(other))
        };
        if others(jobs, |other| other.spec.fill.may_fill()) {
            jobs[place].spec.fill = Fill::Auto;
            notes.add(
                "a file that one job reads is filled before all of them. In fio jobs that only write have new files, unless they name the \
                 same: there each write also allocates, and flushes take longer (overwrite=1 has the same load in both)"
                    .to_owned(),
            );
        } else if fill == Fill::Hole && others(jobs, |other| other.spec.fill != Fill::Hole) {
            jobs[place].spec.fill = Fill::Never;
            notes.add("fallocate: the space of the file is reserved, since another job has it so".to_owned());
        }
        if place > 0 && jobs[place].waits && !jobs[place].names_file && jobs[place - 1].target == jobs[place].target {
            notes.add(
                "jobs that name no file have new ones in fio; here a job writes over what the job before it wrote (name one file for both)"
                    .to_owned(),
            );
        }
    }
}

/// Gives jobs without a file's name stretches of their own: fio gives each a file of its own.
fn lay_side_by_side(jobs: &mut [ReadJob]) {
    let mut ends: BTreeMap<(Option<String>, u32), Bytes> = BTreeMap::new();
    for job in jobs.iter_mut().filter(|job| !job.names_file) {
        let Some(size) = job.spec.size else { continue };
        let end = ends.entry((job.target.clone(), job.spec.files)).or_insert(Bytes::ZERO);
        let each = Bytes::new(size.get().div_ceil(u64::from(job.spec.files.max(1))).next_multiple_of(4 << 10));
        let own = job.spec.start;
        job.spec.start = Bytes::new(end.get().saturating_add(own.get()));
        *end = Bytes::new(end.get().saturating_add(own.get()).saturating_add(each.get()));
    }
}

/// Texts in the order in which they first came.
#[derive(Debug, Default)]
struct Distinct(Vec<String>, BTreeSet<String>);

impl Distinct {
    fn add(&mut self, text: String) {
        if self.1.insert(text.clone()) {
            self.0.push(text);
        }
    }
    fn extend(&mut self, texts: impl IntoIterator<Item = String>) {
        for text in texts {
            self.add(text);
        }
    }
}

/// The jobs with their options. A `[global]` section counts for the jobs that follow it.
fn sections(text: &str, problems: &mut Vec<FioProblem>) -> Vec<Section> {
    let mut global = Settings::new();
    let mut jobs: Vec<Section> = Vec::new();
    // None before the first section, and within a global one.
    let mut in_job: Option<bool> = None;
    let mut options = 0;
    for (number, line) in text.lines().enumerate() {
        let (number, line) = (number + 1, before_comment(line));
        if line.is_empty() {
            continue;
        }
        if options > OPTIONS_MAX {
            let message = format!(
                "here its jobs have {OPTIONS_MAX} options, those of [global] counted for each job: write several files"
            );
            problems.push(FioProblem::new(number, message));
            return jobs;
        }
        if problems.len() > PROBLEMS_FOUND_MAX {
            return jobs;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            // fio looks no further than this.
            let is_global = name.starts_with("global");
            in_job = Some(!is_global);
            options += global.len();
            if !is_global {
                jobs.push(Section { line: number, name: name.to_owned(), settings: global.clone(), joined: 0 });
            }
            continue;
        }
        options += 1;
        let (key, value) = line.split_once('=').unwrap_or((line, "1"));
        let key = canonical(&key.trim().to_ascii_lowercase()).to_owned();
        let setting = Setting { line: number, value: value.trim().to_owned() };
        if let Some(keyword) = KEYWORDS.iter().find(|keyword| setting.value.contains(*keyword)) {
            let message = format!(
                "{key}={}: {keyword} depends on the machine, and its value is not at hand: write it itself",
                setting.value
            );
            problems.push(FioProblem::new(number, message));
        } else {
            match (in_job, jobs.last_mut()) {
                (Some(true), Some(job)) => put(&mut job.settings, key, setting),
                (Some(_), _) => put(&mut global, key, setting),
                (None, _) => {
                    let message = format!("{key} stands before the first section: put [global] above it");
                    problems.push(FioProblem::new(number, message));
                }
            }
        }
    }
    jobs
}

/// Adds an option. What stands later counts, except that every file name is one more file.
fn put(settings: &mut Settings, key: String, mut setting: Setting) {
    if let ("filename", Some(before)) = (key.as_str(), settings.get(&key)) {
        setting.value = format!("{}:{}", before.value, setting.value);
    }
    settings.insert(key, setting);
}

/// Jobs whose clones are shared out over several directories, as a job for each directory. With a file's name fio takes the first.
fn shared_out(sections: Vec<Section>, notes: &mut Distinct) -> Vec<Section> {
    let mut jobs = Vec::new();
    for mut section in sections {
        let several = section.settings.get("directory").filter(|setting| setting.value.contains(':')).cloned();
        let Some((directories, clones)) = several.zip(clones(&section)) else {
            jobs.push(section);
            continue;
        };
        let names: Vec<&str> = directories.value.split(':').collect();
        let has_gaps = ["offset_increment", "opendir"].iter().any(|key| section.settings.contains_key(*key));
        if has_gaps || directories.value.contains('\\') || names.iter().any(|name| name.is_empty()) {
            jobs.push(section);
            continue;
        }
        notes.add(format!(
            "directory={}: each directory has its share of the clones, as in fio; a file with a name lies in the first",
            directories.value
        ));
        let count = if section.settings.contains_key("filename") { 1 } else { names.len() as u64 };
        for (place, name) in (0..count.min(clones.max(1))).zip(names) {
            let own = clones / count + u64::from(place < clones % count);
            let mut job = Section {
                line: section.line,
                name: section.name.clone(),
                settings: section.settings.clone(),
                joined: 0,
            };
            job.settings.insert("directory".to_owned(), Setting { value: name.to_owned(), ..directories.clone() });
            let line = section.settings.get("numjobs").map_or(section.line, |setting| setting.line);
            job.settings.insert("numjobs".to_owned(), Setting { line, value: own.to_string() });
            jobs.push(job);
            // The others run beside the first.
            for key in WAITING.iter().chain([&WAIT_FOR]) {
                section.settings.remove(*key);
            }
        }
    }
    jobs
}

/// Jobs that wait for one by its name, as such that wait for all before them, if that is the same: if nothing else runs by then.
fn waiting(mut sections: Vec<Section>, problems: &mut Vec<FioProblem>) -> Vec<Section> {
    let mut first = 0;
    for place in 0..sections.len() {
        if waits(&sections[place]) {
            first = place;
        }
        let Some(setting) = sections[place].settings.remove(WAIT_FOR) else { continue };
        if place > first
            && sections[first..place].iter().all(|before| before.name == setting.value)
            && place - first == 1
        {
            sections[place].settings.insert(WAITING[0].to_owned(), Setting { value: "1".to_owned(), ..setting });
            first = place;
            continue;
        }
        let message = format!(
            "wait_for={}: in fio the job begins when that job has ended, while others may go on; here it waits for all before it: \
             name the job right before it, which runs alone, or write stonewall",
            setting.value
        );
        problems.push(FioProblem::new(setting.line, message));
    }
    sections
}

/// Jobs with those that run at the same time and ask the same put into them as clones: they are threads of one load.
fn joined(sections: Vec<Section>, notes: &mut Distinct) -> Vec<Section> {
    let mut jobs: Vec<Section> = Vec::new();
    let mut unnamed = 0;
    for section in sections {
        match jobs.last_mut() {
            Some(before) if !waits(&section) && asks_the_same(before, &section) => {
                let Some(clones) = clones(before).zip(clones(&section)).and_then(|(a, b)| a.checked_add(b)) else {
                    close(jobs.last_mut(), &mut unnamed, notes);
                    jobs.push(section);
                    continue;
                };
                let line = before.settings.get("numjobs").map_or(before.line, |setting| setting.line);
                before.settings.insert("numjobs".to_owned(), Setting { line, value: clones.to_string() });
                before.joined += 1;
                if before.joined >= NAMED_MAX {
                    unnamed += 1;
                    continue;
                }
                notes.add(format!(
                    "[{}] runs at the same time as [{}] and asks the same: they are threads of one load",
                    section.name, before.name
                ));
                before.name = format!("{} + {}", before.name, section.name);
            }
            _ => {
                close(jobs.last_mut(), &mut unnamed, notes);
                jobs.push(section);
            }
        }
    }
    close(jobs.last_mut(), &mut unnamed, notes);
    jobs
}

/// Says of the last job how many more were joined to it than are named.
fn close(job: Option<&mut Section>, unnamed: &mut usize, notes: &mut Distinct) {
    let (Some(job), more @ 1..) = (job, std::mem::take(unnamed)) else { return };
    notes.add(format!(
        "{more} more run at the same time as [{}] and ask the same: they are threads of one load",
        job.name
    ));
    job.name = format!("{} + {more} more", job.name);
}

/// Whether a job waits for those before it.
fn waits(section: &Section) -> bool {
    WAITING.iter().any(|key| section.settings.get(*key).is_some_and(|setting| setting.value != "0"))
}

/// Whether two jobs differ at most in what says nothing about what is asked of storage, in the number of their clones, and in
/// whether they wait.
fn asks_the_same(one: &Section, other: &Section) -> bool {
    let counts = |(key, _): &(&String, &Setting)| {
        !options::is_harmless(key) && key.as_str() != "numjobs" && !WAITING.contains(&key.as_str())
    };
    let value = |(key, setting): (&'_ String, &'_ Setting)| (key.clone(), setting.value.clone());
    one.settings.iter().filter(counts).map(value).eq(other.settings.iter().filter(counts).map(value))
}

/// How many of a job run at once; `None` where that cannot be read.
fn clones(section: &Section) -> Option<u64> {
    section.settings.get("numjobs").map_or(Some(1), |setting| units::integer(&setting.value, base(&section.settings)))
}

/// One name for options that have several.
fn canonical(key: &str) -> &str {
    match key {
        "blocksize" => "bs",
        "readwrite" => "rw",
        "blockalign" => "ba",
        "timeout" => "runtime",
        "io_limit" => "io_size",
        "fileoffset" => "offset",
        "nr_files" => "nrfiles",
        "threads" => "thread",
        "blocksize_range" => "bsrange",
        "blocksize_unaligned" => "bs_unaligned",
        "iodepth_batch_submit" => "iodepth_batch",
        "iodepth_batch_complete" => "iodepth_batch_complete_min",
        "ratemin" => "rate_min",
        "fill_fs" => "fill_device",
        "ss" => "steadystate",
        "ss_dur" => "steadystate_duration",
        "ss_ramp" => "steadystate_ramp_time",
        other => other,
    }
}

/// What `kb_base` says.
fn base(settings: &Settings) -> Base {
    if settings.get("kb_base").is_some_and(|s| s.value == "1000") { Base::Decimal } else { Base::Binary }
}

#[cfg(test)]
mod tests;
