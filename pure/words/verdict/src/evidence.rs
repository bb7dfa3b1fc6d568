//! What was seen that a judgement rests on: figures with their units, and where they were read. `pure/report` makes the sentences.

use crate::{
    BesideFact, CourseFact, DeclaredFact, HostsFact, LevelFact, LoadFact, MachineFact, ModelFact, WaitingFact,
    WatchFact,
};
use serde::{Deserialize, Serialize};

/// Facts in the order in which they are told.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Evidence(Vec<Fact>);

impl Evidence {
    /// Of these facts.
    #[must_use]
    pub const fn of(facts: Vec<Fact>) -> Self {
        Self(facts)
    }
    /// A sentence that an earlier version stored.
    #[must_use]
    pub fn written(text: String) -> Self {
        Self(vec![Fact::Written(Written { text })])
    }
    /// The facts.
    #[must_use]
    pub fn facts(&self) -> &[Fact] {
        &self.0
    }
    /// Whether nothing was seen.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// One more.
    pub fn push(&mut self, fact: impl Into<Fact>) {
        self.0.push(fact.into());
    }
    /// With one more.
    #[must_use]
    pub fn and(mut self, fact: impl Into<Fact>) -> Self {
        self.push(fact);
        self
    }
    /// With some more.
    #[must_use]
    pub fn with(mut self, facts: impl IntoIterator<Item = impl Into<Fact>>) -> Self {
        self.0.extend(facts.into_iter().map(Into::into));
        self
    }
    /// With all that another has, behind its own.
    #[must_use]
    pub fn joined(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

impl<F: Into<Fact>> From<F> for Evidence {
    fn from(fact: F) -> Self {
        Self(vec![fact.into()])
    }
}

/// One thing that was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fact {
    /// Of a device that others use.
    Watch(WatchFact),
    /// Of a level and its kind.
    Level(LevelFact),
    /// Of how requests wait.
    Waiting(WaitingFact),
    /// Of what the load asks for.
    Load(LoadFact),
    /// Of the course of the rate.
    Course(CourseFact),
    /// Of the machine.
    Machine(MachineFact),
    /// Of what ran beside it.
    Beside(BesideFact),
    /// Of hosts that load together.
    Hosts(HostsFact),
    /// Of limits that something tells of.
    Declared(DeclaredFact),
    /// Of a model.
    Model(ModelFact),
    /// A sentence.
    Written(Written),
}

macro_rules! facts {
    ($($kind:ident($fact:ty)),+) => {$(
        impl From<$fact> for Fact {
            fn from(fact: $fact) -> Self {
                Self::$kind(fact)
            }
        }
    )+};
}
facts!(
    Level(LevelFact),
    Waiting(WaitingFact),
    Load(LoadFact),
    Course(CourseFact),
    Machine(MachineFact),
    Beside(BesideFact),
    Hosts(HostsFact),
    Declared(DeclaredFact),
    Model(ModelFact)
);

/// A sentence of an earlier version, which had no figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename = "written")]
pub struct Written {
    /// As it was stored.
    pub text: String,
}
