//! On a machine that is no Linux, in place of Linux' own files: a sentence for each verb that it lacks, and less of the terminal.

pub(crate) mod absent_verbs;
pub(crate) mod interruption;
pub(crate) mod library_run;
pub(crate) mod metrics;
pub(crate) mod screen;
pub(crate) mod tty;

pub(crate) use absent_verbs::{
    attached_frames, crawl, doctor, emulate, fault, quick, record, run, shelter_verb, storage_replay, verification,
    watch,
};
pub(crate) use screen as socket;

/// Errors of the engine: none here.
pub(crate) mod engine_words {
    use loadline_runs::{EngineError, Loss};
    use std::error::Error as StdError;

    pub(crate) fn of(_: &(dyn StdError + 'static)) -> Option<String> {
        None
    }

    pub(crate) fn is_before_load(error: &EngineError) -> bool {
        match *error {}
    }

    /// How a volume was lost.
    pub(crate) fn lost(loss: &Loss) -> String {
        loss.how.clone()
    }
}

/// Whether an application can be recorded here.
pub(crate) mod recordable {
    use std::path::Path;

    pub(crate) const fn can_record(_: &str, _: &Path) -> bool {
        false
    }
}

/// Runs that are carried on with.
pub(crate) mod resumption {
    use loadline_runs::{Error, Observer, RunOutcome, StoredRun};

    pub(crate) fn carry_on(run: StoredRun, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
        run.resume(observer)
    }
}
