//! What storage would do: environments and a load out of words, and the rows of their prediction.

use crate::command::{file, options};
use crate::text::{PageAnswer, Problem, StorageQuestion, Word};
use loadline_catalog::{Catalog, Environment};
use loadline_disk::Fullness;
use loadline_document::DocumentError;
use loadline_prediction::{
    DRAWS_DEFAULT, Initially, Limits, Model, PredictionRow, RowMaker, SweepMethod, models, volume_limit,
};
use loadline_report::frame::prediction_frame;
use loadline_report::{PredictedSide, predictions_body};
use loadline_units::Duration;
use loadline_workload::{Plan, RunCell, run_cells};
use serde_json::Value as Json;
use std::fmt::Write as _;

/// The question's name.
pub(crate) const STORAGE: &str = "storage";
/// The names of the environments, in their order.
const NAMES: [&str; 2] = ["a", "b"];
/// The volume of each.
const VOLUME: &str = "data";
/// The seed of the command, where none is typed.
const SEED: u64 = 1;
/// Requests outstanding: a row for each.
const DEPTHS: u32 = 11;
/// Where the command has its files.
const FOLDER: &str = "disks";
const PLAN: &str = "load.toml";
/// The fields of a load and of a storage.
const FIELDS: [&str; 12] =
    ["pattern", "reads", "block", "p99", "vm", "sku", "count", "size", "iops", "throughput", "layout", "host-cache"];

/// A question, read: the load on each of the environments.
#[derive(Debug)]
pub(crate) struct Posed {
    plan: String,
    environments: Vec<String>,
    cells: Vec<RunCell>,
    models: Vec<Vec<Model>>,
    /// The environments as the page names them.
    storage: Vec<PredictedSide>,
    bursts: Fullness,
    objective_ns: Option<u64>,
}

impl Posed {
    /// Reads the words.
    pub(crate) fn of(question: &StorageQuestion, catalog: &Catalog) -> Result<Self, Vec<Problem>> {
        let value = |field: &str| {
            question.words.iter().find(|(name, _)| name == field).map(|(_, typed)| typed.as_str()).unwrap_or_default()
        };
        let text = plan_text(value("pattern"), value("reads"), value("block"), value("p99"));
        let plan = Plan::parse(&text, PLAN).map_err(|error| problems_of(&error, ""))?;
        let cells = run_cells(std::slice::from_ref(&plan), &[VOLUME.to_owned()])
            .map_err(|error| vec![Problem::of("", error.to_string())])?
            .cells;
        let objective = value("p99").parse::<Duration>().ok();
        let bursts = if value("bursts") == "empty" { Fullness::Empty } else { Fullness::Full };
        let initially = Initially { bursts, ..Initially::default() };
        let (mut environments, mut all, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        let mut storage = Vec::new();
        for (name, side) in NAMES.iter().zip(&question.sides) {
            let text = environment_text(name, side);
            match Environment::parse(&text, name, catalog) {
                Ok(environment) => {
                    let drawn = models(&environment, DRAWS_DEFAULT, SEED, Limits::Delivered);
                    let deepest = cells.last().map(|cell| volume_limit(&drawn[0], VOLUME, &cell.spec, initially));
                    let limit = deepest.and_then(Result::ok).flatten();
                    storage.push(PredictedSide { name: (*name).to_owned(), what: storage_words(side), limit });
                    all.push(drawn);
                    environments.push(text);
                }
                Err(error) => problems.extend(problems_of(&error, &format!("{name}."))),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let objective_ns = objective.map(Duration::as_ns);
        Ok(Self { plan: text, environments, cells, models: all, storage, bursts, objective_ns })
    }

    fn maker(&self, side: usize, method: SweepMethod) -> RowMaker<'_> {
        let initially = Initially { bursts: self.bursts, ..Initially::default() };
        // Simulation takes the most plausible form alone: a page is not to wait for the others.
        let all = &self.models[side];
        let models = if method == SweepMethod::Simulation { &all[..1] } else { &all[..] };
        RowMaker { models, method, seed: SEED, initially }
    }

    /// All rows, by limits.
    pub(crate) fn by_limits(&self) -> Vec<PredictionRow> {
        let rows = |side: usize| self.maker(side, SweepMethod::Limits).rows(NAMES[side], &[], &self.cells);
        (0..self.environments.len()).flat_map(rows).collect()
    }

    /// The rows that there are to simulate: those of all environments at a depth come together.
    pub(crate) fn count(&self) -> usize {
        self.cells.len() * self.environments.len()
    }

    /// A row, simulated.
    pub(crate) fn simulated(&self, row: usize) -> PredictionRow {
        let (cell, side) = (row / self.environments.len(), row % self.environments.len());
        let number = cell as u64 + 1;
        self.maker(side, SweepMethod::Simulation).row(NAMES[side], (VOLUME, VOLUME), number, &self.cells[cell])
    }

    /// The answer with these rows.
    pub(crate) fn answer(&self, rows: &[PredictionRow], simulated: Option<usize>, values: bool) -> PageAnswer {
        let json: Option<Json> = values.then(|| prediction_frame(rows).json());
        PageAnswer {
            ask: STORAGE,
            html: Some(predictions_body(rows, &self.storage, self.objective_ns)),
            command: Some(self.command(simulated.is_some())),
            simulates: simulated.is_none(),
            progress: simulated.map(|row| [row + 1, self.count()]),
            more: simulated.is_some_and(|row| row + 1 < self.count()),
            values: json,
            ..PageAnswer::default()
        }
    }

    fn command(&self, simulated: bool) -> String {
        let mut text = format!("mkdir -p {FOLDER}\n");
        for (name, environment) in NAMES.iter().zip(&self.environments) {
            text += &file(&format!("{FOLDER}/{name}.toml"), environment);
        }
        text += &file(PLAN, &self.plan);
        let word = |field: &str, typed: &str| (field.to_owned(), typed.to_owned());
        let mut words = vec![word("env", FOLDER)];
        words.push(if simulated { word("draws", "1") } else { word("limits-only", "yes") });
        words.extend((self.bursts == Fullness::Empty).then(|| word("bursts", "empty")));
        let _ = write!(text, "loadline predict {PLAN}{}", options(&words));
        text
    }
}

/// The problems of a text by the fields that it was made of. Their places in that text are of no use to those who typed into a form.
fn problems_of(error: &DocumentError, before: &str) -> Vec<Problem> {
    let field = |problem: &loadline_document::Problem| {
        let key = problem.key.as_deref().unwrap_or_default();
        let last = key.rsplit('.').next().unwrap_or_default();
        let name = if last == "host_cache" { "host-cache" } else { last };
        let is_field = |known: &&&str| **known == name;
        FIELDS.iter().find(is_field).map_or_else(String::new, |name| format!("{before}{name}"))
    };
    error.problems.iter().map(|problem| Problem::of(field(problem), problem.message.clone())).collect()
}

/// The load as a plan. What is typed stands in quotes, so that the plan's reader judges it.
fn plan_text(pattern: &str, reads: &str, block: &str, p99: &str) -> String {
    let depths: Vec<String> = (0..DEPTHS).map(|power| (1_u32 << power).to_string()).collect();
    let mut text = format!(
        "schema = 1\nname = \"load\"\n[[load]]\npattern = {}\nreads = {}\nblock = {}\nqueue_depth = [{}]\nthreads = 1\n\
         warm_up = \"1 s\"\nduration = \"4 s\"\ntrials = 1\n",
        toml_text(pattern),
        toml_text(reads),
        toml_text(block),
        depths.join(", ")
    );
    if !p99.is_empty() {
        let _ = writeln!(text, "objective = {{ p99 = {} }}", toml_text(p99));
    }
    text
}

/// Machine and disks in words: "azure/MACHINE with 2 x azure/DISK, stripe".
fn storage_words(side: &[Word]) -> String {
    let value = |field: &str| {
        side.iter().find(|(name, _)| name == field).map(|(_, typed)| typed.as_str()).filter(|typed| !typed.is_empty())
    };
    let count = value("count").unwrap_or("1");
    let (times, layout) = match count {
        "1" => (String::new(), String::new()),
        count => (format!("{count} x "), format!(", {}", value("layout").unwrap_or("stripe"))),
    };
    let cache = value("host-cache").filter(|mode| *mode != "none");
    let cache = cache.map_or_else(String::new, |mode| format!(", host cache {mode}"));
    let machine = value("vm").map_or_else(String::new, |machine| format!("{machine} with "));
    format!("{machine}{times}{}{layout}{cache}", value("sku").unwrap_or_default())
}

/// A storage as an environment.
fn environment_text(name: &str, side: &[Word]) -> String {
    let value = |field: &str| {
        side.iter().find(|(name, _)| name == field).map(|(_, typed)| typed.as_str()).filter(|typed| !typed.is_empty())
    };
    let mut text = format!("schema = 1\nname = {}\n", toml_text(name));
    if let Some(vm) = value("vm") {
        let _ = writeln!(text, "vm = {}", toml_text(vm));
    }
    let count: u32 = value("count").map_or(1, |typed| typed.trim().parse().unwrap_or(0));
    let mut disk = format!("sku = {}, count = {count}", toml_text(value("sku").unwrap_or_default()));
    for (field, unit) in [("size", " GiB"), ("iops", " IOPS"), ("throughput", " MB/s")] {
        if let Some(typed) = value(field) {
            let is_plain = typed.chars().all(|c| c.is_ascii_digit());
            let unit = if is_plain { unit } else { "" };
            let _ = write!(disk, ", {field} = {}", toml_text(&format!("{typed}{unit}")));
        }
    }
    let _ = writeln!(text, "[volume.{VOLUME}]\ndisks = [{{ {disk} }}]");
    if count > 1 {
        let layout = match value("layout") {
            Some("mirror") => format!("{{ mirror = {count} }}"),
            _ => "{ stripe = {} }".to_owned(),
        };
        let _ = writeln!(text, "layout = {layout}");
    }
    let _ = writeln!(text, "host_cache = {}", toml_text(value("host-cache").unwrap_or("none")));
    text
}

/// A text in quotes.
fn toml_text(text: &str) -> String {
    toml::Value::from(text).to_string()
}
