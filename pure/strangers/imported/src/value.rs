//! Values of a JSON document with their place, for errors.

use crate::ImportError;
use serde_json::Value;

/// Figures from here on (2 PiB, 26 days in ns) are none of one job: those of all its clones and operations together stay within 64 bits.
pub(crate) const COUNT_MAX: u64 = 1 << 51;

/// A value at its place.
#[derive(Debug, Clone)]
pub(crate) struct At<'a> {
    pub(crate) value: &'a Value,
    source: &'a str,
    place: String,
}

impl<'a> At<'a> {
    /// A whole document.
    pub(crate) fn top(value: &'a Value, source: &'a str) -> Self {
        Self { value, source, place: String::new() }
    }

    /// The problem with the value.
    pub(crate) fn error(&self, message: impl Into<String>) -> ImportError {
        let place = if self.place.is_empty() { "the document".to_owned() } else { self.place.clone() };
        ImportError::Value { source_name: self.source.to_owned(), place, message: message.into() }
    }

    /// The value of a key; `None` if it is missing or null.
    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        let place = match self.place.as_str() {
            "" => key.to_owned(),
            place => format!("{place}.{key}"),
        };
        Some(Self { value, source: self.source, place })
    }

    /// The first of several keys that is there.
    pub(crate) fn any(&self, keys: &[&str]) -> Option<Self> {
        keys.iter().find_map(|key| self.get(key))
    }

    /// The elements of a list.
    pub(crate) fn elements(&self) -> Result<Vec<Self>, ImportError> {
        let list = self.value.as_array().ok_or_else(|| self.error("is no list"))?;
        let one = |(index, value)| Self { value, source: self.source, place: format!("{}[{index}]", self.place) };
        Ok(list.iter().enumerate().map(one).collect())
    }

    /// The entries of an object, in its order.
    pub(crate) fn entries(&self) -> Result<Vec<(&'a str, Self)>, ImportError> {
        let fields = self.value.as_object().ok_or_else(|| self.error("is no object"))?;
        let one = |(key, value): (&'a String, &'a Value)| {
            (key.as_str(), Self { value, source: self.source, place: format!("{}.{key}", self.place) })
        };
        Ok(fields.iter().map(one).collect())
    }

    /// A text; numbers and switches as they are written.
    pub(crate) fn text(&self) -> Result<String, ImportError> {
        match self.value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            Value::Bool(on) => Ok(u8::from(*on).to_string()),
            _ => Err(self.error("is no text")),
        }
    }

    /// A number that is not negative.
    pub(crate) fn number(&self) -> Result<f64, ImportError> {
        let number = self.value.as_f64().filter(|number| number.is_finite());
        let number = number.ok_or_else(|| self.error(format!("{} is no number", shortened(self.value))))?;
        if number < 0.0 {
            return Err(self.error(format!("{} is negative", shortened(self.value))));
        }
        Ok(number)
    }

    /// A whole number below [`COUNT_MAX`].
    pub(crate) fn count(&self) -> Result<u64, ImportError> {
        let whole = if let Some(whole) = self.value.as_u64() {
            whole
        } else {
            let number = self.number()?;
            if number.fract() != 0.0 {
                return Err(self.error(format!("{number} is no whole number")));
            }
            // A number beyond the range stays beyond it.
            number as u64
        };
        if whole >= COUNT_MAX {
            return Err(self.error(format!("{} is more than can be", shortened(self.value))));
        }
        Ok(whole)
    }
}

/// A value short enough for a line.
fn shortened(value: &Value) -> String {
    const LENGTH_MAX: usize = 40;
    let text = value.to_string();
    if text.chars().count() <= LENGTH_MAX { text } else { text.chars().take(LENGTH_MAX).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let document = json!({ "jobs": [{ "read": { "iops": -1, "runtime": 1.5, "bytes": 1e300, "name": [] } }] });
        let job = At::top(&document, "a.json").get("jobs").unwrap().elements().unwrap().remove(0);
        let read = job.get("read").unwrap();
        let told = |key: &str, count: bool| {
            let at = read.get(key).unwrap();
            let error = if count { at.count().unwrap_err() } else { at.text().map(|_| ()).unwrap_err() };
            error.to_string()
        };
        assert_eq!(told("iops", true), "a.json: jobs[0].read.iops: -1 is negative");
        assert_eq!(told("runtime", true), "a.json: jobs[0].read.runtime: 1.5 is no whole number");
        assert!(told("bytes", true).ends_with("is more than can be"));
        assert_eq!(told("name", false), "a.json: jobs[0].read.name: is no text");
    }

    #[test]
    fn whole_numbers_may_be_written_as_floats() {
        let document = json!({ "a": 7.0, "b": null });
        let at = At::top(&document, "x");
        assert_eq!(at.get("a").unwrap().count().unwrap(), 7);
        assert!(at.get("b").is_none());
    }
}
