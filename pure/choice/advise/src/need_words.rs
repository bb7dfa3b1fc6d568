//! What is said of a need beside the source of what it asks: by options of a command, or in fields of a page.

use crate::need::{Asked, Need, Rates};
use crate::need_file::NeedNumbers;
use loadline_catalog::Architecture;
use loadline_units::{ByteRate, Bytes, Duration, Growth, Iops, Ratio, UnitError};
use loadline_workload::{LatencyFigure, Objective, parse_objective};
use std::str::FromStr;

/// Words that say more of a need; what is `None` or empty was not said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NeedWords {
    /// The rates of a steady need.
    pub numbers: NeedNumbers,
    /// The latency to keep.
    pub objective: Option<Objective>,
    /// Limits alone are judged, and no latency.
    pub limits_only: bool,
    /// Requests follow one another on the volume.
    pub sequential: bool,
    /// The bytes to hold.
    pub size: Option<Bytes>,
    /// How much more it is to be in the end.
    pub growth: Option<Growth>,
    /// The bytes that nearly all reads fall on.
    pub hot: Option<Bytes>,
    /// The share of a recorded time in which it must be met.
    pub time_met: Option<Ratio>,
    /// The share of scenarios in which it must be.
    pub sure: Option<Ratio>,
    /// Providers to look at.
    pub providers: Vec<String>,
    /// Regions whose prices count.
    pub regions: Vec<String>,
    /// Of which architecture machines must be.
    pub architecture: Option<Architecture>,
    /// Processors at least.
    pub vcpus: Option<u32>,
    /// Memory at least.
    pub memory: Option<Bytes>,
    /// Parts of machines' names.
    pub machines: Vec<String>,
    /// Parts of disks' names.
    pub disks: Vec<String>,
    /// Disks at most.
    pub disks_max: Option<u32>,
    /// The system's disk; `Some(None)`: not to be bought.
    pub os_disk: Option<Option<Bytes>>,
    /// No machines whose processors run on credits.
    pub no_cpu_credits: bool,
}

impl NeedWords {
    /// Completes a need by what was said.
    pub fn complete(&self, need: &mut Need) {
        need.objective = self.objective.or(need.objective).filter(|_| !self.limits_only);
        need.sequential |= self.sequential;
        need.size = self.size.unwrap_or(need.size);
        need.growth = self.growth.unwrap_or(need.growth);
        need.hot = self.hot.or(need.hot);
        need.time_met = self.time_met.unwrap_or(need.time_met);
        need.sure = self.sure.unwrap_or(need.sure);
        let wanted = &mut need.wanted;
        for (said, of_need) in [
            (&self.providers, &mut wanted.providers),
            (&self.regions, &mut wanted.regions),
            (&self.machines, &mut wanted.machines),
            (&self.disks, &mut wanted.disks),
        ] {
            if !said.is_empty() {
                of_need.clone_from(said);
            }
        }
        wanted.architecture = self.architecture.or(wanted.architecture);
        wanted.vcpus = self.vcpus.or(wanted.vcpus);
        wanted.memory = self.memory.or(wanted.memory);
        wanted.disks_max = self.disks_max.map_or(wanted.disks_max, |most| wanted.disks_max.min(most));
        wanted.os_disk = self.os_disk.unwrap_or(wanted.os_disk);
        wanted.cpu_credits &= !self.no_cpu_credits;
    }

    /// The steady need that these words are by themselves; `None` if they say no rate.
    #[must_use]
    pub fn need(&self) -> Option<Need> {
        let mut need = Need::steady(NEED_NAME, Rates::default(), Bytes::ZERO);
        need.asked = Asked::Steady(self.numbers.rates()?);
        self.complete(&mut need);
        Some(need)
    }

    /// Takes a word by the name of its field, as people type its value. A field that may be said several times keeps all of them.
    ///
    /// # Errors
    /// What is wrong with the value; there is no such field.
    pub fn say(&mut self, field: &str, typed: &str) -> Result<(), String> {
        match field {
            "iops" => self.numbers.iops = Some(iops(typed)?),
            "throughput" => self.numbers.throughput = Some(quantity::<ByteRate>(typed)?),
            "reads" => self.numbers.reads = Some(quantity(typed)?),
            "block" => self.numbers.block = Some(quantity(typed)?),
            "sequential" => self.sequential = true,
            "p99" => self.objective = Some(Objective { of: LatencyFigure::P99, limit: latency(typed)? }),
            "objective" => self.objective = Some(parse_objective(typed).map_err(|reason| reason.to_string())?),
            "limits-only" => self.limits_only = true,
            "size" => self.size = Some(quantity(typed)?),
            "growth" => self.growth = Some(quantity(typed)?),
            "hot" => self.hot = Some(quantity(typed)?),
            "sure" => self.sure = Some(quantity(typed)?),
            "provider" => self.providers.push(typed.to_owned()),
            "region" => self.regions.extend(typed.split(',').map(str::to_owned)),
            "arch" => self.architecture = Some(architecture(typed)?),
            "vcpus" => self.vcpus = Some(count(typed)?),
            "memory" => self.memory = Some(quantity(typed)?),
            "machine" => self.machines.push(typed.to_owned()),
            "disk" => self.disks.push(typed.to_owned()),
            "disks-max" => self.disks_max = Some(count(typed)?),
            "os-disk" => self.os_disk = Some(os_disk(typed)?),
            "no-cpu-credits" => self.no_cpu_credits = true,
            _ => return Err("there is no such field".to_owned()),
        }
        Ok(())
    }
}

/// What a need is called that nobody named.
pub const NEED_NAME: &str = "the need";

fn quantity<T: FromStr<Err = UnitError>>(typed: &str) -> Result<T, String> {
    typed.parse().map_err(|error: UnitError| error.to_string())
}

fn count(typed: &str) -> Result<u32, String> {
    typed.trim().parse().map_err(|_| "write a whole number".to_owned())
}

fn latency(typed: &str) -> Result<Duration, String> {
    let limit: Duration = quantity(typed)?;
    if limit == Duration::ZERO { Err(NO_LATENCY.to_owned()) } else { Ok(limit) }
}

/// Why a latency of nothing is refused.
pub const NO_LATENCY: &str = "a latency of nothing is kept by no storage";

/// A rate of requests: its unit may be left out.
///
/// # Errors
/// What is wrong with it.
pub fn iops(typed: &str) -> Result<Iops, String> {
    let plain: String = typed.trim().chars().filter(|c| !matches!(c, ',' | '_')).collect();
    match plain.parse::<u64>() {
        Ok(count) => Iops::per_second(count).ok_or_else(|| "zero is no rate".to_owned()),
        Err(_) => quantity(typed),
    }
}

/// An architecture by its name.
///
/// # Errors
/// The names that there are.
pub fn architecture(typed: &str) -> Result<Architecture, String> {
    let found = Architecture::ALL.into_iter().find(|one| one.name() == typed);
    found.ok_or_else(|| Architecture::ALL.map(Architecture::name).join(" or "))
}

/// The system's disk: its size, or "none".
///
/// # Errors
/// What is wrong with the size.
pub fn os_disk(typed: &str) -> Result<Option<Bytes>, String> {
    if typed.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    quantity(typed).map(Some).map_err(|error| format!("{error}, or none (default {})", crate::OS_DISK_DEFAULT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_a_need_and_complete_one() {
        let mut words = NeedWords::default();
        for (field, typed) in [
            ("iops", "9,000"),
            ("reads", "70%"),
            ("block", "8KiB"),
            ("p99", "10ms"),
            ("size", "500GiB"),
            ("provider", "azure"),
            ("provider", "aws"),
            ("region", "eastus,us-east-1"),
            ("os-disk", "none"),
            ("no-cpu-credits", ""),
            ("disks-max", "4"),
        ] {
            words.say(field, typed).unwrap();
        }
        let need = words.need().unwrap();
        assert_eq!((need.size, need.objective_text().unwrap().as_str()), (Bytes::gib(500), "p99 of 10 ms"));
        assert_eq!((need.wanted.providers.len(), need.wanted.regions.len()), (2, 2));
        assert_eq!((need.wanted.os_disk, need.wanted.cpu_credits, need.wanted.disks_max), (None, false, 4));
        let limits = NeedWords { limits_only: true, ..words };
        assert_eq!(limits.need().unwrap().objective, None);
        assert_eq!(NeedWords::default().need(), None);
    }

    #[test]
    fn a_value_that_is_none_says_why() {
        let mut words = NeedWords::default();
        for (field, typed) in [
            ("iops", "0"),
            ("iops", "many"),
            ("size", "big"),
            ("p99", "0 ms"),
            ("arch", "z80"),
            ("vcpus", "-1"),
            ("os-disk", "some"),
            ("nothing", "1"),
        ] {
            assert!(!words.say(field, typed).unwrap_err().is_empty(), "{field} {typed}");
        }
        assert_eq!(words, NeedWords::default());
    }
}
