//! Changes as people type them: "index workers x2", "repository latency 50 ms", "index volume MAKER/DISK 6000 IOPS".

use super::change::{Amount, Change, DiskWish, VolumeSpeed};
use loadline_record::{Station, VolumeRole};
use loadline_units::{ByteRate, Bytes, Iops, UnitError};
use std::str::FromStr;

/// What can be changed: the words for it, and what may follow.
const SUBJECTS: [(&str, &str); 12] = [
    ("repository latency", "\"repository latency 50 ms\" or \"share repository latency x0.5\""),
    ("crawl delay", "\"crawl delay 1 s\" or \"crawl delay x0.5\""),
    ("per host", "\"per host 4\" or \"per host x2\""),
    ("slots", "\"slots 16\" or \"share slots x2\""),
    ("connections", "\"connections 8\" or \"connections x2\""),
    ("workers", "\"index workers 4\" or \"index workers x2\""),
    ("queue", "\"index queue 100\" or \"index queue x2\""),
    ("volume", "\"index volume x2\" or \"index volume MAKER/DISK 6000 IOPS\""),
    ("index memory", "\"index memory 200 MiB\" or \"index memory x2\""),
    ("cores", "\"cores 8\" or \"cores x2\""),
    ("network", "\"network 125 MB/s\" or \"network x2\""),
    ("commit", "\"commit every 10000 items\", \"commit every 5 s\" or \"commit x2\""),
];
const WITHOUT: &str = "no source";

/// A text that is no change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeTextError {
    /// Nothing that can be changed is named.
    #[error("{text:?} names nothing that can be changed{}: write {wanted}", nearest.map(|of| format!(" (did you mean {of:?}?)")).unwrap_or_default())]
    Subject {
        /// The text.
        text: String,
        /// The nearest subject, where one is near.
        nearest: Option<&'static str>,
        /// Every subject.
        wanted: String,
    },
    /// The value is missing or is none.
    #[error("{text:?} has no value for {subject}: write {wanted}")]
    Value {
        /// The text.
        text: String,
        /// The subject.
        subject: &'static str,
        /// Examples.
        wanted: &'static str,
    },
    /// A quantity.
    #[error("{text:?}: {error}")]
    Quantity {
        /// The text.
        text: String,
        /// What is wrong with it.
        error: UnitError,
    },
    /// What stands before the subject is no station or volume.
    #[error("{text:?}: {name:?} has no {subject}: there are those of {known}")]
    Owner {
        /// The text.
        text: String,
        /// The name.
        name: String,
        /// The subject.
        subject: &'static str,
        /// Who has it.
        known: &'static str,
    },
}

/// A text taken apart: what stands before the subject, and the value after it.
struct Parts<'a> {
    text: &'a str,
    owner: &'a str,
    value: &'a str,
    subject: &'static str,
    wanted: &'static str,
}

impl Parts<'_> {
    fn no_value(&self) -> ChangeTextError {
        ChangeTextError::Value { text: self.text.to_owned(), subject: self.subject, wanted: self.wanted }
    }
    fn source(&self) -> Option<String> {
        (!self.owner.is_empty()).then(|| self.owner.to_owned())
    }
    /// "x2", "x 0.5" or "2x".
    fn factor(&self) -> Result<Option<f64>, ChangeTextError> {
        let value = self.value;
        let number = value.strip_prefix(['x', 'X', '×']).or_else(|| value.strip_suffix(['x', 'X', '×']));
        let Some(number) = number else { return Ok(None) };
        match number.trim().parse::<f64>() {
            Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(Some(factor)),
            _ => Err(self.no_value()),
        }
    }
    fn amount<T>(&self, read: impl FnOnce(&str) -> Result<T, ChangeTextError>) -> Result<Amount<T>, ChangeTextError> {
        match self.factor()? {
            Some(factor) => Ok(Amount::Times(factor)),
            None if self.value.is_empty() => Err(self.no_value()),
            None => read(self.value).map(Amount::To),
        }
    }
    fn count(&self) -> Result<Amount<u32>, ChangeTextError> {
        self.amount(|value| value.parse().ok().filter(|count| *count > 0).ok_or_else(|| self.no_value()))
    }
    fn quantity<T: FromStr<Err = UnitError>>(&self) -> Result<Amount<T>, ChangeTextError> {
        self.amount(|value| self.unit(value))
    }
    fn unit<T: FromStr<Err = UnitError>>(&self, value: &str) -> Result<T, ChangeTextError> {
        value.parse().map_err(|error| ChangeTextError::Quantity { text: self.text.to_owned(), error })
    }
    fn station(&self) -> Result<Station, ChangeTextError> {
        let station = Station::LINE.into_iter().find(|station| station.name() == self.owner);
        station.ok_or_else(|| self.no_owner("extract, index and database"))
    }
    fn role(&self) -> Result<VolumeRole, ChangeTextError> {
        // "database volume" is the one of its rows.
        let name = self.owner.strip_prefix("database ").unwrap_or(self.owner);
        let name = if name == "database" { "data" } else { name };
        let role = VolumeRole::ALL.into_iter().find(|role| role.name() == name);
        role.ok_or_else(|| self.no_owner("index, data and log"))
    }
    fn no_owner(&self, known: &'static str) -> ChangeTextError {
        let (text, name) = (self.text.to_owned(), self.owner.to_owned());
        ChangeTextError::Owner { text, name, subject: self.subject, known }
    }
    fn nothing_before(&self) -> Result<(), ChangeTextError> {
        if self.owner.is_empty() { Ok(()) } else { Err(self.no_owner("the crawl as a whole")) }
    }

    fn volume(&self) -> Result<VolumeSpeed, ChangeTextError> {
        if let Some(factor) = self.factor()? {
            return Ok(VolumeSpeed::Times(factor));
        }
        let (sku, mut rest) = self.value.split_once(' ').unwrap_or((self.value, ""));
        if !sku.contains('/') {
            return Err(self.no_value());
        }
        let mut wish = DiskWish { sku: sku.to_owned(), iops: None, throughput: None, size: None };
        // Quantities of a number and a unit, one after the other.
        while !rest.trim().is_empty() {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let (quantity, taken) = match words[..] {
                [number, unit, ..] if number.ends_with(|c: char| c.is_ascii_digit()) => (format!("{number} {unit}"), 2),
                _ => (words[0].to_owned(), 1),
            };
            match (quantity.parse::<Iops>(), quantity.parse::<ByteRate>()) {
                (Ok(iops), _) => wish.iops = Some(iops),
                (_, Ok(throughput)) => wish.throughput = Some(throughput),
                _ => wish.size = Some(self.unit::<Bytes>(&quantity)?),
            }
            let ends = words[taken - 1].as_ptr() as usize - rest.as_ptr() as usize + words[taken - 1].len();
            rest = &rest[ends..];
        }
        Ok(VolumeSpeed::Disk(wish))
    }

    fn commit(&self) -> Result<Change, ChangeTextError> {
        let Some(every) = self.value.strip_prefix("every ") else {
            return match self.factor()? {
                Some(factor) => Ok(Change::CommitItems(Amount::Times(factor))),
                None => Err(self.no_value()),
            };
        };
        match every.trim().strip_suffix("items").or_else(|| every.trim().strip_suffix("item")) {
            Some(items) => {
                let items: String = items.chars().filter(|c| !matches!(c, ' ' | ',' | '_')).collect();
                let items = items.parse().ok().filter(|items| *items > 0).ok_or_else(|| self.no_value())?;
                Ok(Change::CommitItems(Amount::To(items)))
            }
            None => self.unit(every).map(Change::CommitEvery),
        }
    }
}

impl FromStr for Change {
    type Err = ChangeTextError;
    fn from_str(text: &str) -> Result<Self, ChangeTextError> {
        let plain = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(name) = plain.strip_prefix(WITHOUT) {
            return match name.trim() {
                "" => Err(ChangeTextError::Value {
                    text: text.to_owned(),
                    subject: WITHOUT,
                    wanted: "\"no source share\"",
                }),
                name => Ok(Self::NoSource(name.to_owned())),
            };
        }
        let found = SUBJECTS.iter().find_map(|(subject, wanted)| {
            let (owner, value) = around(&plain, subject)?;
            Some(Parts { text, owner, value, subject, wanted })
        });
        let Some(parts) = found else { return Err(no_subject(text, &plain)) };
        Ok(match parts.subject {
            "repository latency" => Self::RepositoryLatency(parts.source(), parts.quantity()?),
            "crawl delay" => Self::CrawlDelay(parts.source(), parts.quantity()?),
            "per host" => Self::PerHost(parts.source(), parts.count()?),
            "slots" => Self::Slots(parts.source(), parts.count()?),
            "connections" => Self::Connections(parts.source(), parts.count()?),
            "workers" => Self::Workers(parts.station()?, parts.count()?),
            "queue" => Self::Queue(parts.station()?, parts.count()?),
            "volume" => Self::Volume(parts.role()?, parts.volume()?),
            subject => {
                parts.nothing_before()?;
                match subject {
                    "index memory" => Self::IndexMemory(parts.quantity()?),
                    "cores" => Self::Cores(parts.count()?),
                    "network" => Self::Network(parts.quantity()?),
                    _ => parts.commit()?,
                }
            }
        })
    }
}

/// What stands before and after a subject that stands in the text as whole words.
fn around<'a>(text: &'a str, subject: &str) -> Option<(&'a str, &'a str)> {
    text.match_indices(subject).find_map(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + subject.len()..]);
        let is_whole = (before.is_empty() || before.ends_with(' ')) && (after.is_empty() || after.starts_with(' '));
        is_whole.then(|| (before.trim(), after.trim()))
    })
}

fn no_subject(text: &str, plain: &str) -> ChangeTextError {
    let near = |subject: &&str| {
        let words = subject.split(' ').count();
        let all: Vec<&str> = plain.split(' ').collect();
        let nearest = all.windows(words).map(|window| strsim::jaro_winkler(&window.join(" "), subject));
        nearest.fold(0.0, f64::max)
    };
    let best = SUBJECTS.iter().map(|(subject, _)| *subject).map(|subject| (near(&subject), subject));
    let nearest = best.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|best| best.0 > 0.8).map(|best| best.1);
    let names: Vec<&str> = SUBJECTS.iter().map(|(subject, _)| *subject).collect();
    let wanted = format!("{} or {WITHOUT}, and a value", names.join(", "));
    ChangeTextError::Subject { text: text.to_owned(), nearest, wanted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Duration;

    fn read(text: &str) -> Change {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    fn error(text: &str) -> String {
        text.parse::<Change>().expect_err(text).to_string()
    }

    #[test]
    fn changes_read_as_people_type_them() {
        let share = || Some("share".to_owned());
        for (text, change) in [
            ("index workers x2", Change::Workers(Station::Index, Amount::Times(2.0))),
            ("database  workers 3", Change::Workers(Station::Database, Amount::To(3))),
            ("repository latency 50 ms", Change::RepositoryLatency(None, Amount::To(Duration::from_ms(50)))),
            ("share repository latency x0.5", Change::RepositoryLatency(share(), Amount::Times(0.5))),
            ("user profiles slots 32", Change::Slots(Some("user profiles".to_owned()), Amount::To(32))),
            ("share crawl delay 1 s", Change::CrawlDelay(share(), Amount::To(Duration::from_s(1)))),
            ("no source user profiles", Change::NoSource("user profiles".to_owned())),
            ("cores 2x", Change::Cores(Amount::Times(2.0))),
            ("network 125 MB/s", Change::Network(Amount::To(ByteRate::per_second(125_000_000).unwrap()))),
            ("index volume x2", Change::Volume(VolumeRole::Index, VolumeSpeed::Times(2.0))),
            ("commit every 10,000 items", Change::CommitItems(Amount::To(10_000))),
            ("commit every 5 s", Change::CommitEvery(Duration::from_s(5))),
            ("commit x2", Change::CommitItems(Amount::Times(2.0))),
            ("index memory 200 MiB", Change::IndexMemory(Amount::To(Bytes::mib(200)))),
            ("extract queue x4", Change::Queue(Station::Extract, Amount::Times(4.0))),
        ] {
            assert_eq!(read(text), change, "{text}");
        }
        let disk = |iops, throughput, size| {
            let sku = "aws/gp3".to_owned();
            VolumeSpeed::Disk(DiskWish { sku, iops, throughput, size })
        };
        assert_eq!(
            read("index volume aws/gp3 6000 IOPS"),
            Change::Volume(VolumeRole::Index, disk(Iops::per_second(6_000), None, None))
        );
        assert_eq!(
            read("database log volume aws/gp3 100 GiB 500MB/s 3 kIOPS"),
            Change::Volume(
                VolumeRole::Log,
                disk(Iops::per_second(3_000), ByteRate::per_second(500_000_000), Some(Bytes::gib(100)))
            )
        );
    }

    #[test]
    fn what_is_no_change_says_what_to_write() {
        assert!(error("index wokers x2").contains("did you mean \"workers\"?"));
        assert_eq!(
            error("index workers"),
            "\"index workers\" has no value for workers: write \"index workers 4\" or \"index workers x2\""
        );
        assert!(error("index workers x0").contains("has no value"));
        assert!(error("index workers 0").contains("has no value"));
        assert!(
            error("web workers 2").contains("\"web\" has no workers: there are those of extract, index and database")
        );
        assert!(error("repository latency 50").contains("has no unit"));
        assert!(error("index volume fast").contains("MAKER/DISK 6000 IOPS"));
        assert!(error("index volume aws/gp3 many IOPS").contains("has no number"));
        assert!(error("big cores 2").contains("the crawl as a whole"));
        assert!(error("").contains("names nothing that can be changed"));
    }
}
