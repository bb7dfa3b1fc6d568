//! Steps: what a request is for, an operation of storage or a stage of an application's work with a name of its own.
//!
//! An application tells its work in steps that storage does not know: "page fetched", "index commit". Each has its latencies and
//! its course as an operation has. Rates and bytes of storage are of operations alone: a step is made of them.

use crate::{OperationRecord, SecondOperation};
use loadline_block::Operation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Steps with names at most, of one trial.
pub const STEPS_MAX: usize = 32;
/// Bytes of a step's name at most.
pub const STEP_NAME_MAX: usize = 48;

/// What a step of an application is called: one line of at most [`STEP_NAME_MAX`] bytes, with no blank at either end, and the name
/// of no operation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StepName(String);

/// A step is not called so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepNameError {
    /// Nothing, more than one line, or blanks at an end.
    #[error("{0:?} is no step's name: it is one line without blanks at its ends")]
    Form(String),
    /// Too long.
    #[error("{0:?} is too long for a step's name: it has at most {STEP_NAME_MAX} bytes")]
    Long(String),
    /// An operation's.
    #[error("{0:?} is an operation of storage: an application's step has another name")]
    Operation(String),
}

impl StepName {
    /// A name that is one.
    ///
    /// # Errors
    /// Where it is none.
    pub fn new(name: impl Into<String>) -> Result<Self, StepNameError> {
        let name = name.into();
        if name.is_empty() || name.trim() != name || name.chars().any(char::is_control) {
            return Err(StepNameError::Form(name));
        }
        if name.len() > STEP_NAME_MAX {
            return Err(StepNameError::Long(name));
        }
        if Operation::ALL.iter().any(|operation| operation.name() == name) {
            return Err(StepNameError::Operation(name));
        }
        Ok(Self(name))
    }
    /// As it is stored and printed.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for StepName {
    type Error = StepNameError;
    fn try_from(name: String) -> Result<Self, StepNameError> {
        Self::new(name)
    }
}

impl From<StepName> for String {
    fn from(name: StepName) -> Self {
        name.0
    }
}

impl fmt::Display for StepName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What requests, or an application's work, are counted by. The four operations come first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Step {
    /// An operation of storage.
    Operation(Operation),
    /// A step of an application.
    Named(StepName),
}

impl Step {
    /// As it is stored and printed.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Operation(operation) => operation.name(),
            Self::Named(name) => name.name(),
        }
    }
}

impl TryFrom<String> for Step {
    type Error = StepNameError;
    fn try_from(name: String) -> Result<Self, StepNameError> {
        match Operation::ALL.into_iter().find(|operation| operation.name() == name) {
            Some(operation) => Ok(Self::Operation(operation)),
            None => StepName::new(name).map(Self::Named),
        }
    }
}

impl From<Step> for String {
    fn from(step: Step) -> Self {
        step.name().to_owned()
    }
}

/// What belongs to each named step, in the order of their names; at most [`STEPS_MAX`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<StepName, T>", into = "BTreeMap<StepName, T>", bound(serialize = "T: Clone + Serialize"))]
pub struct Steps<T>(BTreeMap<StepName, T>);

/// There are more named steps than [`STEPS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a trial has at most {STEPS_MAX} named steps")]
pub struct StepsFull;

impl<T> Default for Steps<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Steps<T> {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// That of a step.
    #[must_use]
    pub fn get(&self, name: &StepName) -> Option<&T> {
        self.0.get(name)
    }
    /// Each with its name.
    pub fn iter(&self) -> impl Iterator<Item = (&StepName, &T)> {
        self.0.iter()
    }
    /// Each with its name, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&StepName, &mut T)> {
        self.0.iter_mut()
    }
    /// That of a step, made where it is not there.
    ///
    /// # Errors
    /// Where there are [`STEPS_MAX`] others.
    pub fn at(&mut self, name: &StepName) -> Result<&mut T, StepsFull>
    where
        T: Default,
    {
        if !self.0.contains_key(name) && self.0.len() >= STEPS_MAX {
            return Err(StepsFull);
        }
        Ok(self.0.entry(name.clone()).or_default())
    }
}

impl<T> TryFrom<BTreeMap<StepName, T>> for Steps<T> {
    type Error = StepsFull;
    fn try_from(steps: BTreeMap<StepName, T>) -> Result<Self, StepsFull> {
        if steps.len() > STEPS_MAX { Err(StepsFull) } else { Ok(Self(steps)) }
    }
}

impl<T> From<Steps<T>> for BTreeMap<StepName, T> {
    fn from(steps: Steps<T>) -> Self {
        steps.0
    }
}

/// A named step of a trial, as an operation is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Its counts and its latencies over the measured time.
    pub record: OperationRecord,
    /// Its course, by the intervals of the trial's series; empty where it was not noted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<SecondOperation>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_come_first_and_each_step_is_one_string() {
        let steps =
            ["page fetched", "flush", "index commit", "read"].map(|name| Step::try_from(name.to_owned()).unwrap());
        let mut sorted = steps.to_vec();
        sorted.sort();
        let text = serde_json::to_string(&sorted).unwrap();
        assert_eq!(text, r#"["read","flush","index commit","page fetched"]"#);
        assert_eq!(serde_json::from_str::<Vec<Step>>(&text).unwrap(), sorted);
    }

    #[test]
    fn a_name_is_one_short_line_and_no_operation() {
        let long = "x".repeat(STEP_NAME_MAX + 1);
        for name in ["", " page", "page\nfetched", "read", long.as_str()] {
            assert!(StepName::new(name).is_err(), "{name:?}");
        }
        assert_eq!(StepName::new("row read").unwrap().to_string(), "row read");
    }

    #[test]
    fn the_number_of_named_steps_is_bounded() {
        let mut steps: Steps<u64> = Steps::default();
        for number in 0..STEPS_MAX {
            *steps.at(&StepName::new(format!("step {number}")).unwrap()).unwrap() += 1;
        }
        assert_eq!(steps.at(&StepName::new("one more").unwrap()), Err(StepsFull));
        assert!(steps.at(&StepName::new("step 0").unwrap()).is_ok());
        let mut all: BTreeMap<StepName, u64> = steps.into();
        all.insert(StepName::new("one more").unwrap(), 1);
        assert_eq!(Steps::try_from(all), Err(StepsFull));
    }
}
