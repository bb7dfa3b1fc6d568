//! A plan as the commands of another tool, for machines where loadline cannot run.
//!
//! Each cell that the tool can do has a command for each of its trials, in the order in which a run would have them. A load that the tool
//! cannot do is refused with its reason: none becomes another load.

mod diskspd;
mod fio;

use loadline_units::{Bytes, Duration};
use loadline_workload::{CARRIED_PLAN, CarriedPlan, LoadSpec, Origin, Plan, SeveralVolumes, schedule};
use std::collections::BTreeSet;

/// The only file that the commands make and measure.
const TEST_FILE: &str = "loadline-test.dat";
/// Trials come in the order of this seed, so that the same plan gives the same files.
const SEED: u64 = 0;
const NS_PER_S: u64 = 1_000_000_000;

/// A tool that measures in place of loadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandTool {
    /// `diskspd`, on Windows.
    Diskspd,
    /// `fio`, where there is a shell.
    Fio,
}

impl CommandTool {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Diskspd => "diskspd",
            Self::Fio => "fio",
        }
    }
}

/// A plan in the words of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commands {
    /// The files with their contents: scripts, what they read, and a copy of the plan.
    pub files: Vec<(String, String)>,
    /// How many cells are measured.
    pub cells: usize,
    /// How many commands measure them.
    pub trials: usize,
    /// How long all of them take, without the making of the test file.
    pub time: Duration,
    /// The size of the test file.
    pub file_size: Bytes,
    /// Cells that the tool cannot do.
    pub refused: Vec<Refused>,
    /// What is done otherwise around the loads, in sentences.
    pub notes: Vec<String>,
    /// Whether a cell was refused since it has no size.
    pub wants_size: bool,
}

/// A cell that a tool cannot do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The cell's name among the files.
    pub cell: String,
    /// Why, in a sentence.
    pub why: String,
}

/// A cell in a tool's words.
struct Put {
    /// The options of its command, or what its job file holds.
    text: String,
    notes: Vec<&'static str>,
}

/// A command.
struct Step<'a> {
    /// What its results are called, without the ending.
    result: String,
    cell: &'a str,
    /// From 1.
    trial: u32,
    pause_s: u64,
    drops_caches: bool,
    /// Which command it is, from 1.
    number: usize,
    text: &'a str,
}

/// What a script says of itself.
struct About {
    /// The plan's name in letters that stand for themselves in every script.
    plan: String,
    tool: &'static str,
    steps: usize,
    time: Duration,
    file_size: Bytes,
    /// Whether the test file is written in full first.
    is_filled: bool,
}

impl About {
    /// The head comment: what is measured and touched. `usage` is how the script is called.
    fn head(&self, usage: &str, beside: &str) -> Vec<String> {
        let Self { plan, tool, steps, time, file_size, .. } = self;
        vec![
            format!("Measures the plan \"{plan}\" by {tool}: {steps} commands, about {}.", time.clock()),
            String::new(),
            format!("    {usage}"),
            String::new(),
            format!(
                "It makes one test file, {TEST_FILE} of {file_size}, in FOLDER ({beside}), measures that file, and removes it."
            ),
            "It never opens a disk, a partition or any file that was there before.".to_owned(),
            "Results lie beside this script. Those that are there already are not measured again.".to_owned(),
            "Carry this folder back, and take them in with: loadline import FOLDER".to_owned(),
        ]
    }
}

/// Puts `plan` into the words of `tool`. Loads without a size spread over `size`.
///
/// # Errors
/// Loads that belong on several volumes.
pub fn commands(plan: &Plan, tool: CommandTool, size: Option<Bytes>) -> Result<Commands, SeveralVolumes> {
    let carried = CarriedPlan::new(plan, "data")?;
    let mut all = Commands {
        files: vec![(CARRIED_PLAN.to_owned(), plan.text.clone())],
        cells: 0,
        trials: 0,
        time: Duration::ZERO,
        file_size: Bytes::ZERO,
        refused: Vec::new(),
        notes: Vec::new(),
        wants_size: false,
    };
    let specs: Vec<LoadSpec> = carried.run.cells.iter().map(|cell| sized(&cell.spec, size)).collect();
    let beside: BTreeSet<usize> =
        carried.run.groups.iter().filter(|group| group.cells.len() > 1).flat_map(|group| group.cells.clone()).collect();
    let mut put: Vec<Option<Put>> = Vec::new();
    let mut notes = BTreeSet::new();
    for (place, (spec, name)) in specs.iter().zip(&carried.names).enumerate() {
        all.wants_size |= spec.size.is_none() && spec.size_share.is_none();
        let own = unfit(spec, beside.contains(&place)).and_then(|()| match tool {
            CommandTool::Diskspd => diskspd::options(spec),
            CommandTool::Fio => fio::job(spec, name),
        });
        put.push(match own {
            Ok(put) => {
                all.cells += 1;
                all.file_size = all.file_size.max(end_of(spec));
                notes.extend(put.notes.iter().copied());
                Some(put)
            }
            Err(why) => {
                all.refused.push(Refused { cell: name.clone(), why });
                None
            }
        });
    }
    all.notes = notes.into_iter().map(str::to_owned).collect();
    let groups: Vec<_> =
        carried.run.groups.iter().map(|group| (group.order, carried.run.cells[group.cells[0]].spec.trials)).collect();
    let mut steps: Vec<Step<'_>> = Vec::new();
    for planned in schedule(&groups, SEED) {
        let place = carried.run.groups[planned.group].cells[0];
        let Some(own) = &put[place] else { continue };
        let spec = &specs[place];
        all.time = all.time + spec.trial_time();
        steps.push(Step {
            result: carried.result(place, planned.trial),
            cell: &carried.names[place],
            trial: planned.trial + 1,
            pause_s: spec.pause.as_ns().div_ceil(NS_PER_S),
            drops_caches: spec.drop_caches,
            number: steps.len() + 1,
            text: &own.text,
        });
    }
    all.trials = steps.len();
    let is_measured = |place: usize| put[place].is_some();
    let is_filled = specs.iter().enumerate().any(|(place, spec)| is_measured(place) && spec.wants_full(Origin::Made));
    let kept = |c: char| if c.is_ascii_alphanumeric() || " .,_-".contains(c) { c } else { '_' };
    let about = About {
        plan: plan.name.chars().map(kept).collect(),
        tool: tool.name(),
        steps: steps.len(),
        time: all.time,
        file_size: all.file_size,
        is_filled,
    };
    match tool {
        CommandTool::Diskspd => all.files.extend(diskspd::scripts(&about, &steps)),
        CommandTool::Fio => {
            let jobs = put.iter().zip(&carried.names);
            all.files.extend(jobs.filter_map(|(put, name)| Some((format!("{name}.fio"), put.as_ref()?.text.clone()))));
            all.files.extend(fio::script(&about, &steps));
        }
    }
    Ok(all)
}

/// A load with a size, where it has none of its own.
fn sized(spec: &LoadSpec, size: Option<Bytes>) -> LoadSpec {
    let size = spec.size.or(size.filter(|_| spec.size_share.is_none()));
    LoadSpec { size, ..spec.clone() }
}

/// Where a load ends in its file.
fn end_of(spec: &LoadSpec) -> Bytes {
    Bytes::new(spec.start.get().saturating_add(spec.size.unwrap_or_default().get()))
}

/// What no command on one test file does.
fn unfit(spec: &LoadSpec, is_beside: bool) -> Result<(), String> {
    let why = if is_beside {
        "it runs beside other loads (together), and each command is a load by itself".to_owned()
    } else if spec.size_share.is_some() {
        "it spreads over a share of its target, and the test file is made for the load".to_owned()
    } else if spec.size.is_none() {
        "the plan gives it no size".to_owned()
    } else if spec.files > 1 {
        format!("it spreads over {} files, and the commands make one", spec.files)
    } else if spec.trims_any() {
        "it trims, and the commands measure a file".to_owned()
    } else if spec.verify {
        "every block is marked and checked, which loadline alone does".to_owned()
    } else if spec.steady_state.is_some() {
        "the warm-up lasts until the rate is steady (SNIA)".to_owned()
    } else {
        return Ok(());
    };
    Err(why)
}

#[cfg(test)]
mod tests;
