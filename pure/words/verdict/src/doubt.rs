//! Doubts: the run finished, but this number should not be believed as it stands.

use crate::DoubtEvidence;
use serde::{Deserialize, Serialize};

/// What kind of doubt; the codes are stable, and each has its paragraph in `docs/doubts.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoubtCode {
    /// Reads were answered from memory, wholly or in part.
    CachedReads,
    /// Reads fell on extents that were never written: the device need not be touched. Or writes did: the file system notes each.
    UnwrittenExtents,
    /// Too short for a token bucket or a cache to show its lasting rate.
    ShortRun,
    /// The tool's own threads were the limit, or close to it.
    GeneratorBound,
    /// The open loop's arrivals were not all issued, or not in time.
    OfferedLoadMissed,
    /// Other processes used the same device.
    OtherLoad,
    /// The rate was still moving.
    NotSteady,
    /// Too few completions for the percentiles shown.
    FewSamples,
    /// The device saw another queue depth or other requests than were asked.
    DepthNotReached,
    /// The file system compresses, or stores less than was written.
    CompressedOrSparse,
    /// The clock jumped or ran at another rate than its reference.
    ClockUnstable,
    /// The hypervisor took CPU time away.
    CpuStolen,
    /// The device keeps its contents in this machine's memory.
    CachedBelow,
    /// The tool did not run for a time.
    ToolStopped,
    /// The page cache took part on purpose or because direct I/O was refused.
    Buffered,
    /// Requests failed.
    Errors,
    /// The trial ended before its time.
    EndedEarly,
    /// Data read back was not what was written.
    VerifyFailed,
    /// A prediction passed where a limit must be that nobody has published.
    UnknownLimit,
    /// The model is known to miss what was measured of such storage.
    KnownDeviation,
    /// An emulation's answers left later than the model had them due.
    LateDelivery,
    /// An emulation's storage was changed on purpose: a fault, spent credits, another machine.
    ChangedMeanwhile,
    /// A recorded load lay in part beyond the end of the storage that it was replayed on.
    RequestsMoved,
    /// A load was recorded while a limit held its application back.
    SourceLimited,
    /// Another tool measured it: checks that need what loadline notes around a trial were not made.
    Imported,
    /// Hosts that were to run together did not, for part of the time.
    NotTogether,
    /// The wall clocks of hosts were taken as they are.
    ClocksNotCompared,
}

impl DoubtCode {
    /// Every code, in the order in which reports list them.
    pub const ALL: [Self; 27] = [
        Self::VerifyFailed,
        Self::Errors,
        Self::EndedEarly,
        Self::UnknownLimit,
        Self::KnownDeviation,
        Self::Imported,
        Self::CachedReads,
        Self::UnwrittenExtents,
        Self::Buffered,
        Self::CachedBelow,
        Self::CompressedOrSparse,
        Self::GeneratorBound,
        Self::ToolStopped,
        Self::LateDelivery,
        Self::ChangedMeanwhile,
        Self::RequestsMoved,
        Self::SourceLimited,
        Self::NotTogether,
        Self::ClocksNotCompared,
        Self::OfferedLoadMissed,
        Self::DepthNotReached,
        Self::OtherLoad,
        Self::CpuStolen,
        Self::ClockUnstable,
        Self::NotSteady,
        Self::ShortRun,
        Self::FewSamples,
    ];

    /// The stable name used in records, tables and scripts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CachedReads => "cached-reads",
            Self::UnwrittenExtents => "unwritten-extents",
            Self::ShortRun => "short-run",
            Self::GeneratorBound => "generator-bound",
            Self::OfferedLoadMissed => "offered-load-missed",
            Self::OtherLoad => "other-load",
            Self::NotSteady => "not-steady",
            Self::FewSamples => "few-samples",
            Self::DepthNotReached => "depth-not-reached",
            Self::CompressedOrSparse => "compressed-or-sparse",
            Self::ClockUnstable => "clock-unstable",
            Self::CpuStolen => "cpu-stolen",
            Self::Buffered => "buffered",
            Self::CachedBelow => "cached-below",
            Self::ToolStopped => "tool-stopped",
            Self::Errors => "errors",
            Self::EndedEarly => "ended-early",
            Self::VerifyFailed => "verify-failed",
            Self::UnknownLimit => "unknown-limit",
            Self::KnownDeviation => "known-deviation",
            Self::LateDelivery => "late-delivery",
            Self::ChangedMeanwhile => "changed-meanwhile",
            Self::RequestsMoved => "requests-moved",
            Self::SourceLimited => "source-limited",
            Self::Imported => "imported",
            Self::NotTogether => "not-together",
            Self::ClocksNotCompared => "clocks-not-compared",
        }
    }
    /// One sentence for a reader who meets the code for the first time.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::CachedReads => "reads were answered from memory, so the figure is not the disk's",
            Self::UnwrittenExtents => {
                "requests fell on blocks never written: reads need no disk then, and writes more than their own work"
            }
            Self::ShortRun => "too short to see past a burst allowance, a cache or the turns of a throttle",
            Self::GeneratorBound => "the measuring tool itself was the limit",
            Self::OfferedLoadMissed => "the arrivals asked for were not all issued, or not all completed in time",
            Self::OtherLoad => "something else used the same device meanwhile",
            Self::NotSteady => "the rate was still moving when the measurement ended",
            Self::FewSamples => "too few requests for the far percentiles",
            Self::DepthNotReached => "the device did not see the requests or the depth that were asked",
            Self::CompressedOrSparse => "the file system may store less than was written",
            Self::ClockUnstable => "the clock was not steady",
            Self::CpuStolen => "the hypervisor took CPU time away",
            Self::Buffered => "the page cache took part",
            Self::CachedBelow => "the device is a file in this machine's memory, wholly or in part",
            Self::ToolStopped => "the measuring tool itself was kept from running",
            Self::Errors => "some requests failed",
            Self::EndedEarly => "the trial ended before its time",
            Self::VerifyFailed => "data read back was not what was written",
            Self::ChangedMeanwhile => {
                "the emulated storage was changed on purpose: figures mix what it was before and after"
            }
            Self::RequestsMoved => {
                "requests of the recorded load lay beyond the end of this storage: they were put elsewhere on it"
            }
            Self::SourceLimited => "the load was recorded at a limit: without it, more would have been asked for",
            Self::Imported => "another tool measured it: not every check of a measurement could be made",
            Self::NotTogether => {
                "the hosts did not all run at the same time: fewer of them loaded the storage for a part of it"
            }
            Self::ClocksNotCompared => {
                "nobody compared the hosts' clocks: when each began is known to what they differ by"
            }
            Self::LateDelivery => "an emulated disk answered later than it was to: clients measured this machine",
            Self::KnownDeviation => "such storage was measured elsewhere, and the model is known to miss that",
            Self::UnknownLimit => {
                "a limit that must be there was not published: an estimate holds the prediction there, or nothing"
            }
        }
    }
}

/// How much a doubt takes from a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DoubtGrade {
    /// The figure is not the storage's, or not of the load that was asked for.
    Spoils,
    /// The figure stands with a condition: something else had a part in it.
    Qualifies,
    /// The figure stands; the note says what cannot be seen in it.
    Note,
}

impl DoubtGrade {
    /// All, the gravest first.
    pub const ALL: [Self; 3] = [Self::Spoils, Self::Qualifies, Self::Note];

    /// One sentence for a heading.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Spoils => "do not use these figures as the storage's",
            Self::Qualifies => "these figures hold under a condition",
            Self::Note => "these figures hold; this is what they cannot show",
        }
    }
}

impl DoubtCode {
    /// How much it takes from a figure.
    #[must_use]
    pub const fn grade(self) -> DoubtGrade {
        match self {
            Self::VerifyFailed
            | Self::Errors
            | Self::EndedEarly
            | Self::CachedReads
            | Self::UnwrittenExtents
            | Self::CachedBelow
            | Self::CompressedOrSparse
            | Self::ToolStopped
            | Self::LateDelivery
            | Self::ChangedMeanwhile
            | Self::ClockUnstable => DoubtGrade::Spoils,
            Self::UnknownLimit
            | Self::KnownDeviation
            | Self::Buffered
            | Self::GeneratorBound
            | Self::RequestsMoved
            | Self::SourceLimited
            | Self::NotTogether
            | Self::OfferedLoadMissed
            | Self::DepthNotReached
            | Self::OtherLoad
            | Self::CpuStolen
            | Self::NotSteady => DoubtGrade::Qualifies,
            Self::Imported | Self::ClocksNotCompared | Self::ShortRun | Self::FewSamples => DoubtGrade::Note,
        }
    }
}

impl std::fmt::Display for DoubtCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// A doubt with what was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredDoubt")]
pub struct Doubt {
    /// What kind.
    pub code: DoubtCode,
    /// What was seen, with its figures.
    pub seen: DoubtEvidence,
}

impl Doubt {
    /// A doubt as earlier versions stored it: with a sentence.
    #[must_use]
    pub fn written(code: DoubtCode, text: impl Into<String>) -> Self {
        Self { code, seen: DoubtEvidence::Written { text: text.into() } }
    }
}

/// A doubt as this version or an earlier one stored it.
#[derive(Deserialize)]
struct StoredDoubt {
    code: DoubtCode,
    #[serde(default)]
    seen: Option<DoubtEvidence>,
    /// The sentence, which earlier versions stored alone.
    #[serde(default)]
    detail: String,
}

impl From<StoredDoubt> for Doubt {
    fn from(StoredDoubt { code, seen, detail }: StoredDoubt) -> Self {
        seen.map_or_else(|| Self::written(code, detail), |seen| Self { code, seen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_stored_form() {
        for code in DoubtCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.name());
        }
    }

    #[test]
    fn what_earlier_versions_stored_is_read() {
        let earlier = r#"{"code":"short-run","detail":"Measured for 5 s."}"#;
        let doubt = Doubt::written(DoubtCode::ShortRun, "Measured for 5 s.");
        assert_eq!(serde_json::from_str::<Doubt>(earlier).unwrap(), doubt);
        let now = r#"{"code":"cpu-stolen","seen":{"kind":"cpu-stolen","share":0.25}}"#;
        let doubt = Doubt { code: DoubtCode::CpuStolen, seen: DoubtEvidence::CpuStolen { share: 0.25 } };
        assert_eq!((serde_json::from_str(now).unwrap(), serde_json::to_string(&doubt).unwrap()), (doubt, now.into()));
    }
}
