//! The load of a cell: a plan's, a recorded trace's or an application's.

use crate::{Access, ArrivalKind};
use loadline_load::{Arrival, LatencyFigure, LoadSpec, Objective, Pattern, Staggered, Walk, ZoneGaps};
use loadline_units::{Bytes, Duration, Ratio};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What was asked of the volume of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    /// A plan's load, or that of another tool in the words of one.
    Planned(PlannedLoad),
    /// The requests of a recorded trace.
    Recorded(OthersLoad),
    /// The requests of an application on an emulated disk.
    Application(OthersLoad),
    /// A load of which this version knows the figures alone. Its specification is missing, or another version wrote it.
    Figures {
        /// What tables show of it.
        figures: LoadFigures,
        /// The specification as it is stored; `null` where there is none.
        spec: Value,
    },
}

/// A load of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedLoad {
    /// The whole load.
    pub spec: LoadSpec,
    /// What another version stored of it besides, by JSON pointer. A key that is new tells loads apart from the day on which it is
    /// stored.
    pub more: BTreeMap<String, Value>,
}

/// A load that others made.
#[derive(Debug, Clone, PartialEq)]
pub struct OthersLoad {
    /// The volume that was asked, by its name where it was.
    pub volume: String,
    /// Of a replay, what made its requests come: their times, or the answers.
    pub by: Option<String>,
    /// What it came to.
    pub figures: LoadFigures,
}

/// The figures of a load that tables need.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadFigures {
    /// Where requests fall.
    pub pattern: Access,
    /// Share of reads among reads and writes.
    pub read_ratio: f64,
    /// Block size; the mean, in a mix.
    pub block_bytes: u64,
    /// Bytes that the load spreads over, where it names them.
    pub size_bytes: Option<u64>,
    /// Requests kept outstanding by each thread; `None` in an open loop.
    pub queue_depth: Option<u32>,
    /// Load threads.
    pub threads: u32,
    /// When requests come.
    pub arrival: ArrivalKind,
    /// Open loop: arrivals per second over all threads. Closed loop with a ceiling: the ceiling.
    pub rate_iops: Option<f64>,
    /// Whether the page cache is used on purpose.
    pub buffered: bool,
    /// Flush after so many writes of a thread.
    pub flush_every: Option<u64>,
    /// Length of the measured time that was asked for, ns.
    pub duration_ns: u64,
    /// Latency objective, if one is set.
    pub objective: Option<Objective>,
}

impl From<&LoadSpec> for LoadFigures {
    fn from(spec: &LoadSpec) -> Self {
        let (queue_depth, arrival, rate) = match spec.arrival {
            Arrival::Closed { queue_depth, rate_max, .. } => (Some(queue_depth), ArrivalKind::Closed, rate_max),
            Arrival::Constant { rate } => (None, ArrivalKind::Constant, Some(rate)),
            Arrival::Poisson { rate } => (None, ArrivalKind::Poisson, Some(rate)),
        };
        Self {
            pattern: match spec.pattern {
                Pattern::Random(_) => Access::Random,
                Pattern::Sequential { .. } => Access::Sequential,
            },
            read_ratio: spec.reads.as_f64(),
            block_bytes: spec.block_mean().get(),
            size_bytes: spec.size.map(Bytes::get),
            queue_depth,
            threads: spec.threads,
            arrival,
            rate_iops: rate.map(|rate| rate.get() as f64),
            buffered: spec.buffered,
            flush_every: spec.flush.map(|flush| flush.every),
            duration_ns: spec.duration.as_ns(),
            objective: spec.objective,
        }
    }
}

impl LoadFigures {
    /// Requests kept outstanding over all threads, in a closed loop.
    #[must_use]
    pub fn outstanding(&self) -> Option<u64> {
        self.queue_depth.map(|depth| u64::from(depth) * u64::from(self.threads))
    }
    /// Whether others made the requests.
    #[must_use]
    pub const fn is_of_others(&self) -> bool {
        self.arrival.is_of_others()
    }
}

impl From<LoadFigures> for Load {
    /// A load of which nothing else is known.
    fn from(figures: LoadFigures) -> Self {
        Self::Figures { figures, spec: Value::Null }
    }
}

impl From<LoadSpec> for Load {
    fn from(spec: LoadSpec) -> Self {
        Self::Planned(PlannedLoad { spec, more: BTreeMap::new() })
    }
}

impl Load {
    /// The load's whole specification, where it has one.
    #[must_use]
    pub const fn spec(&self) -> Option<&LoadSpec> {
        match self {
            Self::Planned(load) => Some(&load.spec),
            Self::Recorded(_) | Self::Application(_) | Self::Figures { .. } => None,
        }
    }
    /// The load's name in its plan, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.spec()?.name.as_deref().filter(|name| !name.is_empty())
    }
    /// A recorded trace's load or an application's.
    #[must_use]
    pub const fn others(&self) -> Option<&OthersLoad> {
        match self {
            Self::Recorded(load) | Self::Application(load) => Some(load),
            Self::Planned(_) | Self::Figures { .. } => None,
        }
    }
    /// The figures that tables need.
    #[must_use]
    pub fn figures(&self) -> LoadFigures {
        match self {
            Self::Planned(load) => LoadFigures::from(&load.spec),
            Self::Recorded(load) | Self::Application(load) => load.figures.clone(),
            Self::Figures { figures, .. } => figures.clone(),
        }
    }
    /// The figures to change them, where they are kept by themselves; a plan's follow from its specification.
    pub const fn figures_mut(&mut self) -> Option<&mut LoadFigures> {
        match self {
            Self::Planned(_) => None,
            Self::Recorded(load) | Self::Application(load) => Some(&mut load.figures),
            Self::Figures { figures, .. } => Some(figures),
        }
    }
    /// Judges the load by this objective from here on.
    pub fn set_objective(&mut self, objective: Objective) {
        match self {
            Self::Planned(load) => load.spec.objective = Some(objective),
            Self::Recorded(load) | Self::Application(load) => load.figures.objective = Some(objective),
            Self::Figures { figures, .. } => figures.objective = Some(objective),
        }
    }
    /// Whether others made the requests, and how many come is theirs at every moment.
    #[must_use]
    pub fn is_of_others(&self) -> bool {
        self.others().is_some() || matches!(self, Self::Figures { figures, .. } if figures.is_of_others())
    }

    /// A load of its figures and its specification, as they are stored.
    #[must_use]
    pub fn stored(figures: LoadFigures, spec: Value) -> Self {
        let text = |key: &str| spec.get(key).and_then(Value::as_str).map(str::to_owned);
        if let Some(volume) = text(EMULATED) {
            return Self::Application(OthersLoad { volume, by: None, figures });
        }
        if let Some(volume) = text(RECORDED) {
            return Self::Recorded(OthersLoad { volume, by: text(BY), figures });
        }
        match planned(&spec) {
            Some(load) => Self::Planned(load),
            None => Self::Figures { figures, spec },
        }
    }

    /// The specification as it is stored.
    #[must_use]
    pub fn spec_stored(&self) -> Value {
        match self {
            Self::Planned(load) => {
                let mut all = plain(&load.spec);
                for (pointer, value) in &load.more {
                    put(&mut all, pointer, value.clone());
                }
                all
            }
            Self::Application(load) => serde_json::json!({ EMULATED: load.volume }),
            Self::Recorded(load) => match &load.by {
                Some(by) => serde_json::json!({ RECORDED: load.volume, BY: by }),
                None => serde_json::json!({ RECORDED: load.volume }),
            },
            Self::Figures { spec, .. } => spec.clone(),
        }
    }
}

/// Under these keys stands the volume of a load that others made, and what made its requests come.
const EMULATED: &str = "emulated";
const RECORDED: &str = "recorded";
const BY: &str = "by";

fn plain(spec: &LoadSpec) -> Value {
    serde_json::to_value(spec).expect("a specification is plain data")
}

/// A stored specification that this version understands, with what it does not know beside it.
fn planned(stored: &Value) -> Option<PlannedLoad> {
    let mut known = stored.as_object()?.clone();
    let names = plain(&all_keys());
    known.retain(|key, _| names.get(key).is_some());
    for key in CLOSED {
        let own = names[key].as_object()?;
        known.get_mut(key).and_then(Value::as_object_mut)?.retain(|field, _| own.contains_key(field));
    }
    let spec: LoadSpec = serde_json::from_value(Value::Object(known)).ok()?;
    let mut more = BTreeMap::new();
    gather(stored, &plain(&spec), "", &mut more);
    Some(PlannedLoad { spec, more })
}

/// A specification of which no key is left out.
fn all_keys() -> LoadSpec {
    LoadSpec {
        best_of_trials: true,
        passes: Some(1),
        walk: Walk::Back,
        overlap: true,
        end_flush: true,
        size_share: Some(Ratio::ONE),
        staggered: Some(Staggered { step: Bytes::kib(4), length: None }),
        in_turn: Some(1),
        continued: Ratio::ONE,
        zones: Some(ZoneGaps { size: Bytes::kib(4), skip: Bytes::ZERO }),
        ..LoadSpec::default()
    }
}

/// Keys of a specification that refuse fields which they do not know.
const CLOSED: [&str; 1] = ["content"];

/// Puts into `more` what `stored` has and `read` lacks, by JSON pointer. Nothing and a switch that is off are not there.
fn gather(stored: &Value, read: &Value, pointer: &str, more: &mut BTreeMap<String, Value>) {
    let (Value::Object(fields), Value::Object(own)) = (stored, read) else { return };
    for (key, value) in fields {
        let place = format!("{pointer}/{key}");
        match own.get(key) {
            Some(read) => gather(value, read, &place, more),
            None if value.is_null() || *value == Value::Bool(false) => {}
            None => {
                more.insert(place, value.clone());
            }
        }
    }
}

/// Sets the value at a JSON pointer whose parents are there.
fn put(all: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
    if let Some(Value::Object(fields)) = all.pointer_mut(parent) {
        fields.insert(key.to_owned(), value);
    }
}

/// The figures as cells are stored with them: a table of an SQL shell and other programs read these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredFigures {
    pattern: Access,
    read_ratio: f64,
    block_bytes: u64,
    #[serde(default)]
    size_bytes: Option<u64>,
    queue_depth: Option<u32>,
    threads: u32,
    arrival: ArrivalKind,
    rate_iops: Option<f64>,
    buffered: bool,
    flush_every: Option<u64>,
    duration_ns: u64,
    /// The figure's name and its limit in ns.
    objective: Option<(String, u64)>,
}

impl From<LoadFigures> for StoredFigures {
    fn from(figures: LoadFigures) -> Self {
        Self {
            pattern: figures.pattern,
            read_ratio: figures.read_ratio,
            block_bytes: figures.block_bytes,
            size_bytes: figures.size_bytes,
            queue_depth: figures.queue_depth,
            threads: figures.threads,
            arrival: figures.arrival,
            rate_iops: figures.rate_iops,
            buffered: figures.buffered,
            flush_every: figures.flush_every,
            duration_ns: figures.duration_ns,
            objective: figures.objective.map(|of| (of.of.name().to_owned(), of.limit.as_ns())),
        }
    }
}

impl From<StoredFigures> for LoadFigures {
    fn from(stored: StoredFigures) -> Self {
        let objective = |(name, limit_ns): (String, u64)| {
            let of = LatencyFigure::ALL.into_iter().find(|figure| figure.name() == name)?;
            Some(Objective { of, limit: Duration::from_ns(limit_ns) })
        };
        Self {
            pattern: stored.pattern,
            read_ratio: stored.read_ratio,
            block_bytes: stored.block_bytes,
            size_bytes: stored.size_bytes,
            queue_depth: stored.queue_depth,
            threads: stored.threads,
            arrival: stored.arrival,
            rate_iops: stored.rate_iops,
            buffered: stored.buffered,
            flush_every: stored.flush_every,
            duration_ns: stored.duration_ns,
            objective: stored.objective.and_then(objective),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Ratio;
    use serde_json::json;

    fn figures() -> LoadFigures {
        LoadFigures::from(&LoadSpec::default())
    }

    #[test]
    fn a_planned_load_is_read_whole_and_stored_the_same() {
        let spec = LoadSpec { reads: Ratio::percent(70), best_of_trials: true, ..LoadSpec::default() };
        let load = Load::from(spec.clone());
        assert_eq!(Load::stored(figures(), load.spec_stored()), load);
        assert_eq!((load.spec(), load.figures().read_ratio), (Some(&spec), 0.7));
    }

    #[test]
    fn what_another_version_stored_besides_is_kept_wherever_it_stands() {
        for place in ["", "/arrival/closed", "/content"] {
            let mut stored = plain(&LoadSpec::default());
            let fields = stored.pointer_mut(place).and_then(Value::as_object_mut).expect(place);
            fields.insert("brand_new".to_owned(), json!("90 %"));
            let Load::Planned(load) = Load::stored(figures(), stored.clone()) else { panic!("{place} is not read") };
            assert_eq!(load.more.keys().collect::<Vec<_>>(), [&format!("{place}/brand_new")]);
            assert_eq!(Load::Planned(load).spec_stored(), stored);
        }
    }

    #[test]
    fn a_word_that_is_not_known_leaves_the_figures() {
        let mut stored = plain(&LoadSpec::default());
        stored["pattern"] = json!({"random": {"normal": {"sigma": 1}}});
        let load = Load::stored(figures(), stored.clone());
        assert_eq!(load, Load::Figures { figures: figures(), spec: stored });
        assert_eq!(load.spec(), None);
    }

    #[test]
    fn loads_of_others_tell_whose_they_are() {
        let others = LoadFigures { arrival: ArrivalKind::Recorded, pattern: Access::Recorded, ..figures() };
        for spec in [json!({"emulated": "data"}), json!({"recorded": "data", "by": "time"}), json!({"recorded": "a"})] {
            let load = Load::stored(others.clone(), spec.clone());
            assert!(load.is_of_others() && load.others().is_some());
            assert_eq!(load.spec_stored(), spec);
        }
        assert!(!Load::from(LoadSpec::default()).is_of_others());
    }
}
