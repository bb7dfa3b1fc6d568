//! `run --resume RUN` and `predict --resume RUN`: a run that was interrupted or killed is carried on with.

use crate::arguments::{Format, LiveArguments};
use crate::conclusion::{conclude, conclude_search};
use crate::failure::{Outcome, Usage};
use crate::output;
use crate::resumption::carry_on;
use crate::terminal::Terminal;
use loadline_record::{Clock, RunVerb};
use loadline_runs::{Refusal, RunKind, Silent, StoredRun};
use loadline_store::Store;

/// Carries on with a run of this clock, whatever kind it is.
pub(crate) fn resume(
    typed: &str,
    clock: Clock,
    (live, format): (&LiveArguments, Format),
    quiet: bool,
    store: Store,
) -> anyhow::Result<Outcome> {
    let run = StoredRun::claim(store, typed)?;
    let header = &run.record().header;
    let (id, kind) = (header.id.clone(), run.kind());
    if clock == Clock::Virtual && header.clock == Clock::Real {
        return Err(Usage(format!("run {id} was measured: carry on with `loadline run --resume {id}`")).into());
    }
    if run.is_finished() {
        output::tell(&format!("run {id} is finished: nothing is left to do"));
        return conclude(&run.resume(&mut Silent::default())?, format);
    }
    if clock == Clock::Real && header.clock == Clock::Virtual && kind != RunKind::Hunt {
        return Err(Refusal::IsPrediction { run: id }.into());
    }
    let is_quick = header.verb == RunVerb::Quick;
    let mut terminal = Terminal::following(&header.verb, live, quiet)?;
    let outcome = carry_on(run, &mut terminal);
    terminal.close();
    if kind == RunKind::Search {
        return conclude_search(outcome, format);
    }
    let outcome = outcome?;
    if outcome.ended.is_complete() && is_quick {
        output::tell(&format!("its report, as a page: loadline report {id} -o loadline-report.html"));
    }
    conclude(&outcome, format)
}
