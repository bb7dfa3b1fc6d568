//! Conducts the loads of a trial: sets their times, watches their threads, and gathers what they did.

use super::lane::TransferBudget;
use super::ledger::{self, GaveUp, Ledger, Times};
use super::load_threads::{self, Threads};
use super::{CONDUCTOR_SLEEP, HANG_GRACE, LOOK, LoadOnVolume, TrialFiles, device_room, region_of, set_direct};
use crate::backend::Trims;
use crate::choose;
use crate::control::{Control, Phase, Progress};
use crate::error::EngineError;
use crate::target::Volume;
use crate::verify;
use loadline_kernel::clock;
use loadline_kernel::stalls::Stalls;
use loadline_record::{Ending, EngineUsed, SteadyState, TargetKind, VerifyRecord};
use loadline_units::{Bytes, Duration, Instant, NS_PER_S};
use loadline_workload::{GroupEnd, LoadSpec, SteadyStateRule};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// What `conduct` gathered.
pub(super) struct Outcome {
    pub(super) ledger: Arc<Ledger>,
    pub(super) engine: EngineUsed,
    pub(super) warm_up: Duration,
    /// When the measurement began.
    pub(super) measured_from: Instant,
    pub(super) measured: Duration,
    /// What the flush at the end took beyond that.
    pub(super) flushed: Duration,
    pub(super) steady_state: Option<SteadyState>,
    pub(super) ending: Ending,
    pub(super) verify_ledger: Option<Arc<verify::Ledger>>,
    pub(super) verify: VerifyRecord,
    pub(super) stops: Stalls,
}

/// Puts loads on their volumes at the same time, each after its pause beyond the shortest, and gives what each did.
pub(super) fn conduct(
    loads: &[LoadOnVolume<'_>],
    ends: GroupEnd,
    control: &Control,
    instead: Option<Phase>,
) -> Result<Vec<Outcome>, EngineError> {
    let mut all: Vec<UnderWay<'_>> = Vec::new();
    for load in loads {
        match UnderWay::prepare(load, loads.len() > 1, instead) {
            Ok(prepared) => all.push(prepared),
            Err(error) => {
                all.into_iter().for_each(UnderWay::dismiss);
                return Err(error);
            }
        }
    }
    let shortest = loads.iter().map(|load| load.spec.pause).min().unwrap_or_default();
    let ready_at = clock::now();
    let started_at = control.start_at().map_or(ready_at, |start| start.max(ready_at));
    for under_way in &mut all {
        under_way.begins_at = started_at + under_way.spec.pause.saturating_sub(shortest);
        under_way.begin_if_due(ready_at);
    }
    while all.iter().any(|load| !load.is_over()) {
        // A thread that ends wakes this one.
        let from = clock::now();
        let next = all.iter().filter(|load| !load.has_begun).map(|load| load.begins_at.since(from)).min();
        std::thread::park_timeout(next.unwrap_or(CONDUCTOR_SLEEP).min(CONDUCTOR_SLEEP).into());
        let now = clock::now();
        for (place, load) in all.iter_mut().enumerate().filter(|(_, load)| !load.is_over()) {
            load.look(from, now, control);
            if let Some(counts) = load.ledger.book().closed.take() {
                control.count(place, &counts);
            }
        }
        let is_over = all.iter().any(|load| load.is_over() && (ends == GroupEnd::First || load.hung.is_some()));
        if is_over {
            all.iter_mut().filter(|load| !load.is_over()).for_each(UnderWay::call_off);
        }
        control.report(progress(&all, now));
    }
    let outcomes = all.into_iter().map(|load| load.finish(control)).collect();
    control.report(Progress::default());
    Ok(outcomes)
}

/// How far the load is that ends last, with the rates of all.
fn progress(all: &[UnderWay<'_>], now: Instant) -> Progress {
    let each: Vec<Progress> = all.iter().map(|load| load.progress).collect();
    let left = |load: &UnderWay<'_>| load.begins_at + load.spec.trial_time();
    let last = (0..all.len()).filter(|load| !all[*load].is_over()).max_by_key(|load| left(&all[*load]));
    let Some(last) = last.or((!all.is_empty()).then_some(0)) else { return Progress::default() };
    let sum = |of: fn(&Progress) -> Option<f64>| each.iter().filter_map(of).reduce(|one, other| one + other);
    let waits = !all[last].has_begun && all[last].begins_at > now;
    let phase = if waits { Phase::Waiting } else { each[last].phase };
    let (iops, bytes_per_s) = (sum(|one| one.iops), sum(|one| one.bytes_per_s));
    Progress { phase, iops, bytes_per_s, outstanding: sum(|one| one.outstanding), ..each[last] }
}

/// A load whose threads are made.
struct UnderWay<'a> {
    spec: &'a LoadSpec,
    engine: EngineUsed,
    ledger: Arc<Ledger>,
    verify_ledger: Option<Arc<verify::Ledger>>,
    times: Arc<Times>,
    /// What each of its threads may move; none if only time ends it.
    bounds: Vec<Arc<TransferBudget>>,
    /// What they may move together.
    volume: Option<Bytes>,
    threads: Threads,
    /// What the phase is called when this is no ordinary trial.
    instead: Option<Phase>,
    begins_at: Instant,
    has_begun: bool,
    /// When the measurement begins, once that is known.
    from: Option<Instant>,
    steady: Option<Steady>,
    stops: Stalls,
    look_at: Instant,
    judged_from: Instant,
    hung: Option<String>,
    held: Vec<super::heartbeat::Stuck>,
    /// Each of its threads has ended, or is held by the kernel.
    left: bool,
    /// Ended by the end of another.
    called_off: bool,
    progress: Progress,
}

impl<'a> UnderWay<'a> {
    /// Makes its threads. `shares` says that other loads may use the same files at the same time.
    fn prepare(load: &LoadOnVolume<'a>, shares: bool, instead: Option<Phase>) -> Result<Self, EngineError> {
        let LoadOnVolume { volume, spec, seed, options } = *load;
        let (engine, engine_used) = choose::choose(volume, spec, options)?;
        let region = region_of(volume, spec);
        let verify_ledger =
            spec.verify.then(|| Arc::new(verify::Ledger::new(seed, spec.block_max().get(), region, spec.threads)));
        let ledger = Arc::new(Ledger::default());
        let times = Arc::new(Times::new());
        let files = (volume.files.iter())
            .map(|file| if shares { opened_again(file, volume) } else { file.try_clone() })
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| EngineError::os(format!("share the files of volume {}", volume.facts.name), e))?;
        let direct = volume.facts.direct && !spec.buffered;
        for file in &files {
            set_direct(file, direct)
                .map_err(|e| EngineError::os(format!("switch direct I/O on volume {}", volume.facts.name), e))?;
        }
        let volume_of_all = spec.volume_over(region.size * u64::from(region.files));
        let of_thread =
            |volume| (0..spec.threads).map(move |thread| Arc::new(TransferBudget::of(spec.volume_of(thread, volume))));
        let bounds: Vec<_> = volume_of_all.into_iter().flat_map(of_thread).collect();
        let trims = if volume.facts.kind == TargetKind::BlockDevice { Trims::Discard } else { Trims::Hole };
        let threads = Threads::start(&load_threads::Setup {
            engine,
            spec,
            region,
            seed,
            options,
            volume_name: &volume.facts.name,
            device_room: device_room(volume, spec),
            files: Arc::new(TrialFiles {
                files,
                file_size: region.file_size,
                trims,
                direct,
                export: volume.holding.export.clone(),
            }),
            ledger: &ledger,
            times: &times,
            bounds: &bounds,
            verify: verify_ledger.as_ref(),
        })?;
        let now = clock::now();
        Ok(Self {
            spec,
            engine: engine_used,
            ledger,
            verify_ledger,
            times,
            bounds,
            volume: volume_of_all,
            threads,
            instead,
            begins_at: now,
            has_begun: false,
            from: None,
            steady: spec.steady_state.map(|rule| Steady::new(rule, spec.warm_up)),
            stops: Stalls::default(),
            look_at: now,
            judged_from: now,
            hung: None,
            held: Vec::new(),
            left: false,
            called_off: false,
            progress: Progress::default(),
        })
    }

    /// Lets its threads go without a load.
    fn dismiss(self) {
        self.threads.dismiss();
        let _ = self.threads.collect();
    }

    fn is_over(&self) -> bool {
        self.left || self.threads.finished()
    }

    fn begin_if_due(&mut self, now: Instant) {
        if self.has_begun || now < self.begins_at {
            return;
        }
        (self.has_begun, self.begins_at, self.look_at, self.judged_from) = (true, now, now, now);
        if self.steady.is_none() {
            self.measure(now + self.spec.warm_up);
        }
        self.threads.go(now);
    }

    /// The measurement begins then.
    fn measure(&mut self, from: Instant) {
        let to = from + self.spec.duration;
        self.from = Some(from);
        self.times.set(from, to, to + self.spec.cool_down);
    }

    /// Ends it now, since another has ended.
    fn call_off(&mut self) {
        self.called_off = true;
        self.abort();
    }

    fn abort(&mut self) {
        self.times.abort();
        if !self.has_begun {
            self.has_begun = true;
            self.threads.dismiss();
        }
    }

    /// The conductor has slept from `from` until now.
    fn look(&mut self, from: Instant, now: Instant, control: &Control) {
        if control.stopped() && !self.times.aborted() {
            self.abort();
        }
        if !self.has_begun {
            self.begin_if_due(now);
            return;
        }
        self.stops.slept(from + CONDUCTOR_SLEEP, now, (self.times.from(), self.times.to()));
        if now.since(from) > HANG_GRACE {
            // The tool stood still (Ctrl-Z, a machine that slept), and the load threads with it: they come by first.
            self.judged_from = now + HANG_GRACE;
        }
        if now < self.look_at && !self.threads.finished() {
            return;
        }
        self.look_at = now + LOOK;
        self.look_at_book(now);
        let judged = now >= self.judged_from;
        self.held = if judged { self.threads.held(now, self.spec.hang_limit + HANG_GRACE) } else { Vec::new() };
        if let Some(longest) = self.held.iter().min_by_key(|thread| thread.since) {
            self.times.abort();
            self.hung.get_or_insert_with(|| longest.describe(now));
            // The others end by themselves, or are held in their turn.
            self.left = self.held.len() == self.threads.unfinished();
        }
    }

    fn look_at_book(&mut self, now: Instant) {
        let mut book = self.ledger.book();
        if let Some(from) = self.from {
            book.close_seconds(from, now);
        }
        let last = book.last;
        let steady_now = match &mut self.steady {
            Some(steady) if self.from.is_none() => steady.look(now.since(self.begins_at), &book.warm_up_counts),
            _ => false,
        };
        drop(book);
        if steady_now {
            // The load threads learn of it on their next turn: a moment ahead, so that all begin together.
            self.measure(now + Duration::from_ms(10));
        }
        self.progress = self.progress(now, last);
    }

    fn progress(&self, now: Instant, last: Option<ledger::LastSecond>) -> Progress {
        let to = self.times.to();
        let (phase, since, expected) = match self.from {
            Some(from) if now >= to => (Phase::CoolDown, from + self.spec.duration, Some(self.spec.cool_down)),
            Some(from) if now >= from => (Phase::Measuring, from, Some(self.spec.duration)),
            _ => (Phase::WarmUp, self.begins_at, self.steady.is_none().then_some(self.spec.warm_up)),
        };
        let left: u64 = self.bounds.iter().map(|bound| bound.left()).sum();
        let done = self.volume.map(|volume| 1.0 - left as f64 / volume.get().max(1) as f64);
        Progress {
            phase: self.instead.unwrap_or(phase),
            elapsed: now.since(since),
            expected: if done.is_some() { None } else { expected },
            done,
            iops: last.map(|l| l.iops),
            bytes_per_s: last.map(|l| l.bytes_per_s),
            outstanding: last.and_then(|l| l.outstanding),
            latency: last.and_then(|l| l.latency),
            p50: last.and_then(|l| l.p50),
            p99: last.and_then(|l| l.p99),
        }
    }

    /// What it did.
    fn finish(mut self, control: &Control) -> Outcome {
        if self.threads.finished() {
            self.held.clear();
        }
        let ended_at = clock::now();
        let (verify, panicked) = self.threads.collect();
        assert!(!panicked, "a load thread panicked; its message is above");
        let from = self.from.map_or(ended_at, |from| from.min(ended_at));
        let mut book = self.ledger.book();
        // Their counts since the last entry in the ledger are lost with them: at most a second.
        for thread in &self.held {
            book.timed_out(thread.request.map(|request| request.operation), thread.describe(ended_at));
        }
        if let Some(detail) = self.hung {
            book.gave_up.push(GaveUp::Hung(detail));
        }
        let gave_up = book.gave_up.first().cloned();
        let early = control.stopped() || gave_up.is_some() || self.volume.is_some() || self.called_off;
        let last_at = book.finished_at.filter(|_| self.held.is_empty()).unwrap_or(ended_at);
        let to = if early { self.times.to().min(last_at) } else { self.times.to() };
        drop(book);
        let ending = match gave_up {
            Some(GaveUp::Hung(detail)) => Ending::Hung(detail),
            Some(GaveUp::Failed(detail)) => Ending::Failed(detail),
            None if control.stopped() => Ending::Interrupted,
            None => Ending::Complete,
        };
        Outcome {
            engine: self.engine,
            warm_up: from.since(self.begins_at),
            measured_from: from,
            measured: to.since(from),
            flushed: Duration::ZERO,
            steady_state: self.steady.map(Steady::outcome),
            ending,
            verify_ledger: self.verify_ledger,
            verify,
            ledger: self.ledger,
            stops: self.stops,
        }
    }
}

/// A file with flags of its own: whether it goes past the page cache is a flag of all that share one opening.
fn opened_again(file: &File, volume: &Volume) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().read(true).write(volume.writable).open(path)
}

/// Follows the rate round by round until it is steady. Rounds are whole seconds of the load's own count, so that the
/// moment at which the conductor looks does not matter.
struct Steady {
    rule: SteadyStateRule,
    first_second: usize,
    round_seconds: usize,
    rounds: Vec<f64>,
    reached: bool,
}

impl Steady {
    fn new(rule: SteadyStateRule, warm_up: Duration) -> Self {
        assert!(rule.round.as_ns().is_multiple_of(NS_PER_S), "the load was checked: {rule:?}");
        Self {
            rule,
            first_second: warm_up.as_ns().div_ceil(NS_PER_S) as usize,
            round_seconds: (rule.round.as_ns() / NS_PER_S) as usize,
            rounds: Vec::new(),
            reached: false,
        }
    }
    /// Whether the measurement may begin at `elapsed` since the load's begin, with `counts` completed in each second so
    /// far: the rate is steady, or the rounds are used up.
    fn look(&mut self, elapsed: Duration, counts: &[u64]) -> bool {
        let begin = self.first_second + self.rounds.len() * self.round_seconds;
        let end = begin + self.round_seconds;
        if elapsed < Duration::from_s(end as u64) + ledger::SECOND_GRACE {
            return false;
        }
        let completed: u64 = counts.iter().take(end).skip(begin).sum();
        self.rounds.push(completed as f64 / self.round_seconds as f64);
        self.reached = self.rule.met(&self.rounds);
        self.reached || self.rounds.len() >= self.rule.rounds_max as usize
    }
    fn outcome(self) -> SteadyState {
        SteadyState { reached: self.reached, rounds: self.rounds, round_ns: self.round_seconds as u64 * NS_PER_S }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measurement_begins_when_five_rounds_agree_wherever_the_conductor_looks() {
        let rule = SteadyStateRule { round: Duration::from_s(2), ..SteadyStateRule::default() };
        let mut steady = Steady::new(rule, Duration::from_ms(1_500));
        // A rate that settles: two seconds of warm-up, then falling rounds, then level ones.
        let counts: Vec<u64> = [9, 9].into_iter().chain((0..40).map(|s| 100 + 400u64.saturating_sub(s * 50))).collect();
        let begun = (0..60_000u64).step_by(37).find(|ms| {
            let seen = ((ms / 1_000) as usize + 1).min(counts.len());
            steady.look(Duration::from_ms(*ms), &counts[..seen])
        });
        assert!(steady.reached);
        assert_eq!(&steady.rounds[..5], [475.0, 375.0, 275.0, 175.0, 100.0]);
        let rounds = steady.rounds.len() as u64;
        assert_eq!(rounds, 9, "{:?}", steady.rounds);
        let begun = begun.unwrap();
        assert!((2_000 + rounds * 2_000..2_000 + rounds * 2_000 + 400).contains(&begun), "{begun} ms");
    }

    #[test]
    fn rounds_run_out_when_the_rate_never_settles() {
        let rule = SteadyStateRule { round: Duration::from_s(1), rounds_max: 7, ..SteadyStateRule::default() };
        let mut steady = Steady::new(rule, Duration::ZERO);
        let counts: Vec<u64> = (0..20).map(|s| if s % 2 == 0 { 100 } else { 1_000 }).collect();
        let ended = (0..20_000u64).step_by(20).find(|ms| steady.look(Duration::from_ms(*ms), &counts));
        assert!(ended.is_some() && !steady.reached);
        assert_eq!(steady.outcome().rounds.len(), 7);
    }
}
