//! A limit put as requests per second for one load, and where that figure is from.

use crate::{Limit, ThrottledRequests};
use serde::{Deserialize, Serialize};

/// A limit put as requests per second for one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Its name.
    pub limit: Limit,
    /// Requests per second of this load.
    pub iops: f64,
    /// Where the figure comes from.
    #[serde(deserialize_with = "stored")]
    pub source: CeilingSource,
}

/// Where the figure of a ceiling comes from: what a run's own figures show, or what a model knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CeilingSource {
    /// Inferred: requests outstanding over the latency of a single one.
    SingleLatency,
    /// Inferred: one direction of a mix is at the level that it has alone.
    Direction(DirectionLevel),
    /// Inferred: these requests level off from so many outstanding on.
    LevelsOff {
        /// "random 4 KiB".
        load: String,
        /// Outstanding.
        from_depth: u64,
    },
    /// Inferred: the cell itself reaches it.
    Reached,
    /// Inferred: the level of a load of this kind.
    LevelOf {
        /// The load.
        load: String,
        /// Its level for requests of this size.
        level: RateFigure,
    },
    /// A budget on the way of the load.
    Budget(Budget),
    /// What the disk behind a cache takes once that is full of writes.
    WriteBack {
        /// The share of writes that are written again before they reach the disk; `None`: no block is written twice.
        again_share: Option<f64>,
        /// The limit behind the cache.
        behind: Box<Self>,
    },
    /// What a disk's requests in service transfer together.
    InService {
        /// The disk; empty: it has no name.
        disk: String,
        /// Bytes per second.
        bytes_per_s: u64,
    },
    /// What passes under the head of a spinning disk.
    UnderHead {
        /// The disk; empty: it has no name.
        disk: String,
        /// Bytes per second.
        bytes_per_s: u64,
    },
    /// Requests in service over the time that each takes where nothing waits.
    ModelledLatency {
        /// In service at once.
        at_once: f64,
        /// Outstanding, where that is more.
        of_depth: Option<u64>,
        /// Each takes so long.
        latency_ns: f64,
        /// The share of reads that a host's cache answers; `None`: none.
        hit_share: Option<f64>,
    },
    /// The load's own ceiling.
    OwnCeiling,
    /// What the load offers.
    Offered,
    /// The same on each of several hosts.
    OnEachHost {
        /// Hosts.
        hosts: u64,
        /// Where it is from on one.
        source: Box<Self>,
    },
    /// As an earlier version stored it: a text.
    Written {
        /// The text.
        text: String,
    },
}

impl CeilingSource {
    /// Whether it follows from the run's own figures.
    #[must_use]
    pub const fn is_inferred(&self) -> bool {
        matches!(
            self,
            Self::SingleLatency | Self::Direction(_) | Self::LevelsOff { .. } | Self::Reached | Self::LevelOf { .. }
        )
    }

    /// The same without what is of one load alone: of a limit on the way of several loads it is one for all of them.
    #[must_use]
    pub fn of_any_load(&self) -> Self {
        match self {
            Self::Budget(budget) => Self::Budget(Budget { counted_requests: None, bytes_each: None, ..budget.clone() }),
            Self::WriteBack { again_share, behind } => {
                Self::WriteBack { again_share: *again_share, behind: Box::new(behind.of_any_load()) }
            }
            Self::OnEachHost { hosts, source } => {
                Self::OnEachHost { hosts: *hosts, source: Box::new(source.of_any_load()) }
            }
            // In what earlier versions wrote, that follows a semicolon.
            Self::Written { text } => text.split("; ").next().unwrap_or_default().into(),
            other => other.clone(),
        }
    }

    /// Whether several requests are counted for each of the load.
    #[must_use]
    pub fn counts_several(&self) -> bool {
        match self {
            Self::Budget(budget) => budget.counted_requests.is_some(),
            Self::WriteBack { behind: source, .. } | Self::OnEachHost { source, .. } => source.counts_several(),
            _ => false,
        }
    }
}

/// A rate in what a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateFigure {
    /// Requests per second.
    RateIops(f64),
    /// Bytes per second.
    BytesPerS(f64),
}

/// One direction of a mix at the level that it has alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DirectionLevel {
    /// Which.
    pub direction: ThrottledRequests,
    /// Requests per second of it alone.
    pub level_iops: f64,
    /// Its share of the mix's requests.
    pub share: f64,
}

/// A budget of a model, as one load uses it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// Whose it is.
    pub owner: BudgetOwner,
    /// What it allows.
    pub allowed: BudgetRates,
    /// What was published, where that is another.
    pub published: Option<BudgetRates>,
    /// What was published to last, which the others are written like.
    pub steady_per_s: u64,
    /// Whether it holds while credits last, or once they are spent; `None`: nothing saves any.
    pub credits: Option<BudgetCredits>,
    /// Requests that are counted for each of the load, where it is not one.
    pub counted_requests: Option<f64>,
    /// Bytes on it for each request of the load, where they are not its own.
    pub bytes_each: Option<u64>,
}

/// Who has a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum BudgetOwner {
    /// A virtual machine, for what goes through its host's cache or not.
    Machine {
        /// Its type; empty: it has none.
        name: String,
        /// Through the cache.
        cached: bool,
    },
    /// Disks of one type together.
    Pool {
        /// Their type.
        name: String,
    },
    /// The machine's limit for disks of one type.
    Allowance {
        /// Their type.
        name: String,
    },
    /// A disk.
    Disk {
        /// Its type; empty: it has none.
        name: String,
        /// Disks of the type.
        alike: u64,
    },
}

/// The rates of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum BudgetRates {
    /// For reads and writes together.
    Together {
        /// It.
        rate: BudgetRate,
    },
    /// For one direction.
    One {
        /// Which.
        direction: ThrottledRequests,
        /// It.
        rate: BudgetRate,
    },
    /// Either may be had at the cost of the other.
    Traded {
        /// Of reads alone.
        read: BudgetRate,
        /// Of writes alone.
        write: BudgetRate,
    },
}

/// A rate of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetRate {
    /// Requests per second.
    RateIops(u64),
    /// Bytes per second.
    BytesPerS(u64),
}

/// When a budget with credits holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetCredits {
    /// While they last.
    Lasting,
    /// Once they are spent.
    Spent,
}

/// Earlier versions stored a text.
fn stored<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<CeilingSource, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Text(String),
        Source(CeilingSource),
    }
    Ok(match Stored::deserialize(reader)? {
        Stored::Text(text) => CeilingSource::Written { text },
        Stored::Source(source) => source,
    })
}

impl From<&str> for CeilingSource {
    fn from(text: &str) -> Self {
        Self::Written { text: text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_an_earlier_version_stored_is_a_text() {
        let stored = r#"{"limit":"disk-iops","iops":5000.0,"source":"as sold"}"#;
        let ceiling: Ceiling = serde_json::from_str(stored).unwrap();
        assert_eq!(ceiling.source, CeilingSource::from("as sold"));
        let again: Ceiling = serde_json::from_str(&serde_json::to_string(&ceiling).unwrap()).unwrap();
        assert_eq!(again, ceiling);
    }

    #[test]
    fn a_limit_is_one_for_loads_that_use_it_otherwise() {
        let of = |counted_requests| {
            CeilingSource::Budget(Budget {
                owner: BudgetOwner::Disk { name: "p30".into(), alike: 1 },
                allowed: BudgetRates::Together { rate: BudgetRate::RateIops(5_000) },
                published: None,
                steady_per_s: 5_000,
                credits: None,
                counted_requests,
                bytes_each: None,
            })
        };
        assert_ne!(of(Some(2.0)), of(None));
        assert_eq!(of(Some(2.0)).of_any_load(), of(None));
        assert!(of(Some(2.0)).counts_several() && !of(None).counts_several());
        let written = CeilingSource::from("the disk; 2 counted requests on it for each of this load");
        assert_eq!(written.of_any_load(), CeilingSource::from("the disk"));
        let again: CeilingSource = serde_json::from_str(&serde_json::to_string(&of(Some(2.0))).unwrap()).unwrap();
        assert_eq!(again, of(Some(2.0)));
    }
}
