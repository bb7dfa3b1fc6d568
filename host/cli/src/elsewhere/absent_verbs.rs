//! Verbs that are Linux's: what each is, and what to do instead.

use crate::failure::{Outcome, Usage};

/// What measures in place of loadline, and how its results come here.
const MEASURE: &str = "measure with DiskSpd, Iometer or CrystalDiskMark and give the results to `loadline import`, or ask \
                       `loadline predict PLAN --env ENVIRONMENT`";
/// What watches in its place.
const WATCH: &str = "record with Performance Monitor and give the file to `loadline advise --from`";
/// What stands for a disk in its place.
const EMULATE: &str = "`loadline predict` and `loadline replay` answer for the same disks in virtual time, and a Linux machine can \
                       serve them over the network";

/// Refuses a verb: what it is, and what to do instead.
fn absent(is: &str, instead: &str) -> anyhow::Result<Outcome> {
    Err(Usage(format!("{is}, and this machine is no Linux: {instead}")).into())
}

pub(crate) mod quick {
    use super::{MEASURE, Outcome, absent};
    use crate::arguments::quick::QuickArguments;
    use std::path::PathBuf;

    pub(crate) fn quick(_: &QuickArguments, _: bool, _: PathBuf) -> anyhow::Result<Outcome> {
        absent("quick loads storage through Linux' own interfaces", MEASURE)
    }
}

pub(crate) mod run {
    use super::{MEASURE, Outcome, absent};
    use crate::arguments::run::RunArguments;
    use std::path::PathBuf;

    pub(crate) fn run(
        _: &RunArguments,
        _: bool,
        _: impl FnOnce() -> anyhow::Result<PathBuf>,
    ) -> anyhow::Result<Outcome> {
        absent("run loads storage through Linux' own interfaces", MEASURE)
    }
}

pub(crate) mod verification {
    use super::{Outcome, absent};
    use crate::arguments::run::RunArguments;
    use loadline_store::Store;

    pub(crate) fn verify(_: &str, _: &RunArguments, _: bool, _: &Store) -> anyhow::Result<Outcome> {
        absent("run --verify-only reads back what a run wrote there", "check it on the machine that wrote it")
    }
}

pub(crate) mod storage_replay {
    use super::{Outcome, absent};
    use crate::arguments::replay::ReplayArguments;
    use loadline_emulation::Trace;
    use loadline_emulation::replay::Dependence;
    use std::path::PathBuf;

    pub(crate) fn on_storage(
        _: &ReplayArguments,
        _: Trace,
        _: Dependence,
        _: bool,
        _: PathBuf,
    ) -> anyhow::Result<Outcome> {
        absent("replay --on loads storage through Linux' own interfaces", "name a described disk with --env")
    }
}

pub(crate) mod crawl {
    use super::{Outcome, absent};
    use crate::arguments::crawl::CrawlArguments;
    use crate::crawl_changes::on_stored;
    use std::path::PathBuf;

    const IS: &str = "crawl measures with Linux' counters";

    pub(crate) fn crawl(
        arguments: &CrawlArguments,
        _: bool,
        store: impl FnOnce() -> anyhow::Result<PathBuf>,
    ) -> anyhow::Result<Outcome> {
        if let Some(run) = &arguments.stored {
            return on_stored(arguments, run, store);
        }
        absent(IS, "crawl from a Linux machine; its runs are shown, compared and reported here")
    }

    pub(crate) fn read_documents() -> anyhow::Result<Outcome> {
        absent(IS, "crawl from a Linux machine")
    }
}

pub(crate) mod emulate {
    use super::{EMULATE, Outcome, absent};
    use crate::arguments::emulate::EmulateArguments;
    use std::path::PathBuf;

    pub(crate) fn emulate(
        _: &EmulateArguments,
        _: bool,
        _: impl FnOnce() -> anyhow::Result<PathBuf>,
    ) -> anyhow::Result<Outcome> {
        absent("emulate serves disks through Linux' own interfaces", EMULATE)
    }
}

pub(crate) mod fault {
    use super::{EMULATE, Outcome, absent};
    use crate::arguments::fault::FaultArguments;

    pub(crate) fn fault(_: &FaultArguments, _: bool) -> anyhow::Result<Outcome> {
        absent("fault changes an emulation, which runs on Linux", EMULATE)
    }
}

pub(crate) mod watch {
    use super::{Outcome, WATCH, absent};
    use crate::arguments::watch::WatchArguments;
    use std::path::PathBuf;

    pub(crate) fn watch(
        _: &WatchArguments,
        _: bool,
        _: impl FnOnce() -> anyhow::Result<PathBuf>,
    ) -> anyhow::Result<Outcome> {
        absent("watch reads Linux' counters", WATCH)
    }
}

pub(crate) mod record {
    use super::{Outcome, WATCH, absent};
    use crate::arguments::record::RecordArguments;

    pub(crate) fn record(_: &RecordArguments, _: bool) -> anyhow::Result<Outcome> {
        absent("record reads the events of Linux' kernel", WATCH)
    }
}

pub(crate) mod attached_frames {
    use super::{Outcome, absent};
    use crate::arguments::live::AttachArguments;

    pub(crate) fn attach(_: &AttachArguments, _: bool) -> anyhow::Result<Outcome> {
        absent(
            "live attaches to what runs on this machine through Linux' own interfaces",
            "`loadline live RUN --at TIME` shows what was stored",
        )
    }
}

pub(crate) mod doctor {
    use super::{Outcome, absent};
    use crate::arguments::doctor::DoctorArguments;

    pub(crate) fn doctor(_: &DoctorArguments) -> anyhow::Result<Outcome> {
        absent(
            "doctor says what would spoil a measurement on Linux",
            "nothing is measured here; imports, predictions and advice need nothing of it",
        )
    }
}

pub(crate) mod shelter_verb {
    use super::{Outcome, absent};
    use crate::arguments::shelter::ShelterArguments;
    use std::path::PathBuf;

    pub(crate) fn shelter(
        _: &ShelterArguments,
        _: impl FnOnce() -> anyhow::Result<PathBuf>,
    ) -> anyhow::Result<Outcome> {
        absent("shelter prepares, saves and restores disks of Linux", "run it on the machine that has the disk")
    }
}
