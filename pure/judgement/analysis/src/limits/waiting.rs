//! Cells whose requests wait, or do not, where no plateau shows for what.

use super::caps::{
    NEAR, at_level_of_another, explains, latency_ns, request_bytes, round_in_bytes, taken, usual_limit, waits,
};
use super::course::shows_counting;
use super::kinds::{apart, larger_moves_more, moved};
use super::passed::waits_evenly;
use super::single::waits_alone;
use super::{Case, Fall, inferred};
use crate::curves::{Growth, doubted, iops, met, outstanding, paced, sound};
use crate::trials::{SIGNIFICANCE, TRIALS_MIN, rise, trials_used};
use crate::words::{how_much, load_name};
use loadline_block::Operation;
use loadline_record::{
    Binding, CourseFact, DeviceCounters, DoubtCode, Evidence, FallAt, LevelFact, Limit, LoadFact, MachineFact,
    OtherSizes, OwnTimeShown, PresumedBy, ThrottledQuantity, ThrottledRequests, WaitingFact,
};

/// A device that moved less than this share of what was asked did not serve it.
const REACHED_DEVICE_MIN: f64 = 0.5;
/// Of more places, whole numbers lie too close.
const PLACES_MAX: f64 = 16.0;
/// Below this share of a limit a load is held by it only if it asks for less at once than others that reach it.
const FAR_BELOW: f64 = 0.8;
/// A load has less than another if it has less than this share of it.
const LESS_AT_MORE: f64 = 0.8;
/// Fewer served at once than this are one at a time.
const ONE_PLACE: f64 = 1.25;
/// Requests served at once are a whole number if they come as near to one.
const WHOLE: f64 = 0.03;
/// A page cache that holds this share of a file answers its reads.
const RESIDENT: f64 = 0.99;

/// The limit of a kind of load, as one of its cells has it.
pub(super) struct OfKind {
    pub(super) limit: Limit,
    /// Requests per second of the cell.
    pub(super) ceiling: f64,
    /// Whether requests or bytes are counted is not known.
    pub(super) presumed: bool,
    /// What shows it.
    pub(super) fact: LevelFact,
}

impl OfKind {
    /// What bound a cell of this rate.
    pub(super) fn binding(&self, rate: f64, evidence: Evidence) -> Binding {
        let binding = inferred(self.limit, Some(self.ceiling), Some(rate / self.ceiling), evidence);
        Binding { presumed: self.presumed, ..binding }
    }
}

impl Case<'_> {
    /// A burst that was spent within the measured time.
    pub(super) fn by_burst(&self) -> Option<Binding> {
        let course = self.course()?;
        let fall = course.fall().filter(Fall::is_burst)?;
        if doubted(self.cell(), DoubtCode::Buffered) || paced(self.cell()) {
            return None;
        }
        let earlier = (course.falls.iter().rev().skip(1))
            .map(|fall| FallAt { before_iops: fall.before, at_ns: fall.at_ns as u64 })
            .collect();
        let evidence = CourseFact::BurstSpent {
            at_ns: fall.at_ns as u64,
            before_iops: fall.before,
            after_iops: fall.after,
            earlier,
        };
        let share = course.sustained / fall.after;
        Some(inferred(Limit::BurstExhausted, Some(fall.after), Some(share), evidence))
    }

    /// Reads that get faster from trial to trial, over the same data: something keeps what was read.
    pub(super) fn by_getting_faster(&self) -> Option<Binding> {
        let cell = self.cell();
        if cell.load.read_ratio < 0.5 || paced(cell) || cell.load.queue_depth.is_none() {
            return None;
        }
        let rates: Vec<f64> = trials_used(self.record()).iter().filter_map(|trial| trial.iops()).collect();
        if rates.len() < TRIALS_MIN {
            return None;
        }
        let enough = self.records.iter().filter(|record| trials_used(record).len() >= TRIALS_MIN).count();
        let rise = rise(&rates, SIGNIFICANCE / (2.0 * enough.max(1) as f64))?;
        let evidence = CourseFact::GotFaster {
            trials: rates.len() as u64,
            first_iops: *rates.first()?,
            last_iops: *rates.last()?,
            share: rise,
        };
        Some(inferred(Limit::Cache, None, None, evidence))
    }

    /// The page cache answered: less reached the devices than was asked.
    pub(super) fn by_page_cache(&self) -> Option<Binding> {
        let cell = self.cell();
        if !cell.load.buffered && self.volume.is_none_or(|volume| volume.direct) {
            return None;
        }
        let trials = &self.record().trials;
        let asked = |operation: Operation| -> u64 {
            trials.iter().filter_map(|t| t.surroundings.asked.get(&operation)).map(|(_, bytes)| bytes).sum()
        };
        let moved = |of: fn(&DeviceCounters) -> u64| -> u64 {
            trials.iter().flat_map(|t| &t.surroundings.devices).map(of).sum()
        };
        let (requests, bytes, of): (_, _, fn(&DeviceCounters) -> u64) = if cell.load.read_ratio >= 0.5 {
            (ThrottledRequests::Reads, asked(Operation::Read), |device| device.read_bytes)
        } else {
            (ThrottledRequests::Writes, asked(Operation::Write), |device| device.write_bytes)
        };
        let seen = trials.iter().any(|t| !t.surroundings.devices.is_empty()) && bytes > 0;
        let share = seen.then(|| moved(of) as f64 / bytes as f64);
        let resident = trials.iter().filter_map(|t| t.surroundings.residency).map(|r| r.before).fold(0.0, f64::max);
        let evidence = match share {
            Some(share) if share < REACHED_DEVICE_MIN => MachineFact::PageCacheTook { requests, reached_share: share },
            None if resident >= RESIDENT && requests == ThrottledRequests::Reads => {
                MachineFact::InPageCache { share: resident }
            }
            _ => return None,
        };
        Some(inferred(Limit::Cache, None, None, evidence))
    }

    /// A limit on requests or bytes that this cell's requests wait for, where all cells of its kind together show one.
    pub(super) fn by_waiting(&self) -> Option<Binding> {
        let seen = self.seen[self.index].as_ref()?;
        if doubted(self.cell(), DoubtCode::Buffered) || paced(self.cell()) {
            return None;
        }
        let is_waiting = waits(self.cells, self.seen, self.index);
        let told = self.caps[self.index].is_some_and(|caps| caps.told);
        if !is_waiting && !told {
            return None;
        }
        let found = self.caps_of(seen.sustained)?;
        let is_far = seen.sustained < found.ceiling * FAR_BELOW;
        let near = explains(seen.sustained, found.ceiling, is_waiting && (!is_far || self.is_asked_less(&found)));
        let evidence = Evidence::from(self.how_it_is_seen_to_wait())
            .and(found.fact.clone())
            .with(self.more_for_a_while())
            .with(self.how_it_waits());
        near.then(|| found.binding(seen.sustained, evidence))
    }

    /// A cell whose own latencies show the turns of a throttle, while other loads of the run show another limit or none: what held it was
    /// another at its time.
    pub(super) fn by_own_turns(&self) -> Option<Binding> {
        let seen = self.seen[self.index].as_ref().filter(|seen| seen.clustered)?;
        if doubted(self.cell(), DoubtCode::Buffered) || paced(self.cell()) {
            return None;
        }
        let limit = usual_limit(seen.sustained, request_bytes(self.cell()));
        let changed = WaitingFact::ThrottleChanged { rate_iops: seen.sustained };
        let evidence = Evidence::from(changed).with(self.how_it_waits());
        let share = iops(self.cell()).map(|rate| rate / seen.sustained);
        Some(Binding { presumed: true, ..inferred(limit, Some(seen.sustained), share, evidence) })
    }

    /// Whether a load at this limit has as many outstanding, so that asking for less may be why this one has less.
    fn is_asked_less(&self, found: &OfKind) -> bool {
        let own = outstanding(self.cell());
        let bytes = found.ceiling * request_bytes(self.cell());
        self.of().like(self.index).any(|i| {
            let (other, rate) = (&self.cells[i], self.seen[i].as_ref().map_or(0.0, |seen| seen.sustained));
            let at = match found.limit {
                Limit::DiskThroughput => rate * request_bytes(other) / bytes,
                _ => rate / found.ceiling,
            };
            at >= NEAR && outstanding(other) >= own
        })
    }

    /// What bounds the cell as all cells of its kind show it, at `rate`: the limit, its ceiling and what shows it.
    pub(super) fn caps_of(&self, rate: f64) -> Option<OfKind> {
        let caps = self.caps[self.index]?;
        let (limit, allowed) = caps.of(request_bytes(self.cell()))?;
        if caps.told {
            let fact = LevelFact::ExplainsAll { rate_iops: caps.iops, bytes_per_s: caps.bytes_per_s };
            return Some(OfKind { limit, ceiling: allowed, presumed: false, fact });
        }
        if let Some((limit, ceiling, cell)) = at_level_of_another(self.cells, self.caps, self.index, rate) {
            let fact = LevelFact::LimitOfAnother { load: load_name(cell), rate_iops: ceiling };
            return Some(OfKind { limit, ceiling, presumed: false, fact });
        }
        // A limit on bytes holds for all patterns: where larger requests move far more, none is on the way of these.
        let surpassed =
            (limit == Limit::DiskThroughput).then(|| larger_moves_more(self.cells, self.cell(), rate)).flatten();
        if let Some(more) = surpassed {
            let fact = LevelFact::PresumedByLarger {
                load: load_name(more),
                bytes_per_s: moved(more),
                next_block_bytes: self.cell().load.block_bytes * 4,
            };
            return Some(OfKind { limit: Limit::DiskIops, ceiling: allowed, presumed: true, fact });
        }
        let fact = self.presumption(limit, rate);
        Some(OfKind { limit, ceiling: allowed, presumed: true, fact })
    }

    /// Why one of both limits is presumed, where nothing shows whether requests or bytes are counted.
    pub(super) fn presumption(&self, limit: Limit, rate: f64) -> LevelFact {
        let (counted, next_block_bytes) = match limit {
            Limit::DiskIops => (ThrottledQuantity::Requests, self.cell().load.block_bytes * 4),
            _ => (ThrottledQuantity::Bytes, (self.cell().load.block_bytes / 4).max(512)),
        };
        let own = self.cell();
        let is_denied = |i: usize| {
            let other = &self.cells[i];
            apart(own, other) && sound(other) && !paced(other) && waits(self.cells, self.seen, i)
        };
        let others = if self.seen.of_kind(self.index).iter().any(|i| is_denied(*i)) {
            OtherSizes::WaitAtOtherRates
        } else {
            OtherSizes::NotAtALimit
        };
        let round = round_in_bytes(rate, request_bytes(own)).filter(|_| limit == Limit::DiskThroughput);
        LevelFact::Presumed { counted, by: round.unwrap_or(PresumedBy::AsSold), others, next_block_bytes }
    }

    /// Several requests at once, measured at one depth alone, that come to the same count in every second: something counts them out. A device
    /// of which each request takes just as long would make as even a rate; disks hardly do.
    pub(super) fn by_even_rate(&self) -> Option<Binding> {
        let (cell, course) = (self.cell(), self.course().filter(|course| course.even)?);
        let is_only = self.own.is_some_and(|own| self.curves[own].closed.len() <= 1);
        let several = outstanding(cell).is_some_and(|depth| depth > 1);
        let is_apt = is_only && several && sound(cell) && !paced(cell) && !doubted(cell, DoubtCode::Buffered);
        if !is_apt || self.seen.least_ns(self.index).is_some() {
            return None;
        }
        let (rate, limit) = (course.sustained, usual_limit(course.sustained, request_bytes(cell)));
        let evidence = Evidence::from(WaitingFact::SteadyRate).and(self.presumption(limit, rate));
        let evidence = evidence.with(self.how_it_waits());
        Some(Binding { presumed: true, ..inferred(limit, Some(rate), Some(1.0), evidence) })
    }

    /// What its requests take, and less where fewer are outstanding, or what else shows that they wait.
    fn how_it_is_seen_to_wait(&self) -> WaitingFact {
        let own = latency_ns(self.cell()).zip(taken(self.cell()));
        let least = self.seen.least_ns(self.index);
        match (own, least) {
            (Some((own, takes)), Some(fewer_ns)) if own > fewer_ns * 1.05 => {
                WaitingFact::TakesLonger { takes, fewer_ns }
            }
            _ if self.seen[self.index].as_ref().is_some_and(|seen| seen.turns) => WaitingFact::WaitsForTurn,
            _ if self.course().is_some_and(|course| course.steady) => WaitingFact::SteadyRate,
            _ => met(self.cell()).map_or(WaitingFact::Waits, |share| WaitingFact::CompletedOnly { share }),
        }
    }

    /// A closed loop in which nothing shows that requests wait: the depth over the device's own time.
    pub(super) fn by_own_time(&self, rate: f64) -> Option<Binding> {
        let cell = self.cell();
        let depth = outstanding(cell).filter(|_| !paced(cell) && !doubted(cell, DoubtCode::Buffered))?;
        let is_level = self.plateau().is_some_and(|plateau| plateau.cells.contains(&self.index));
        if is_level {
            return None;
        }
        if waits_alone(cell) {
            return None;
        }
        let is_least = self.seen.least_ns(self.index).is_none();
        // Where more of them bring no more, these wait already; single ones may take just their time.
        let beyond = self.own.and_then(|own| self.curves[own].growth_beyond(self.cells, self.index));
        let stops_growing = !is_least && beyond.is_some_and(Growth::flat);
        let longer = waits(self.cells, self.seen, self.index) || stops_growing;
        // Depth over latency is the rate, always: where neither another depth nor seconds could show that something else binds, that
        // nothing does says nothing.
        let is_only = self.own.is_none_or(|own| self.curves[own].closed.len() <= 1);
        if is_least && is_only && depth > 1 && (longer || !shows_counting(self.record())) {
            return None;
        }
        let had_more = self.had_more();
        let served = self.seen.least_ns(self.index).map(|least| rate * least / 1e9);
        let is_crowded = longer && !is_least && had_more.is_none() && !self.spins();
        if let Some(served) = served.filter(|_| is_crowded) {
            return Some(self.had_more_at_fewer(rate).unwrap_or_else(|| self.crowded(rate, served)));
        }
        let shown = match (longer, is_least, &had_more) {
            (true, true, _) => OwnTimeShown::CountedOut,
            (true, false, None) => OwnTimeShown::SoManyAtOnce,
            (true, false, Some(_)) => OwnTimeShown::TakeLonger,
            (false, ..) => OwnTimeShown::NothingWaits,
        };
        let is_measured = longer || self.own.is_some_and(|own| self.curves[own].closed.len() > 1);
        let twice = (!is_measured && had_more.is_none()).then_some(LoadFact::TwiceAsMany { depth });
        let own_time = LoadFact::OwnTime { depth, latency_ns: depth as f64 / rate * 1e9, rate_iops: rate, shown };
        let evidence = Evidence::from(own_time).with(had_more).with(twice).with(self.below_declared());
        let ceiling = self.latency_ceiling();
        Some(inferred(Limit::Latency, ceiling, ceiling.map(|ceiling| rate / ceiling), evidence))
    }

    /// A load that came to less than the same requests at fewer outstanding: a device that serves only so many at once does not.
    fn had_more_at_fewer(&self, rate: f64) -> Option<Binding> {
        let depth = outstanding(self.cell())?;
        let fewer =
            self.curves[self.own?].closed.iter().filter(|i| outstanding(&self.cells[**i]).is_some_and(|of| of < depth));
        let more = fewer.filter_map(|i| Some((*i, self.cells[*i].iops_lasting()?))).max_by(|a, b| a.1.total_cmp(&b.1));
        let (other, most) = more.filter(|(_, most)| rate < most * LESS_AT_MORE)?;
        let amount = how_much(&self.cells[other]);
        let more = WaitingFact::FewerHadMore { amount, other_iops: most, rate_iops: rate };
        let evidence = Evidence::from(more).with(self.how_it_waits());
        Some(inferred(Limit::Unexplained, None, None, evidence))
    }

    /// How many requests of the time that single ones take make a level, where that is a whole number and all single ones take as long: a
    /// device of so many places. Two or more; one place and a limit look alike.
    pub(super) fn whole_places(&self, level: f64) -> Option<f64> {
        let own = &self.curves[self.own?];
        let alone = own.alone(self.cells).filter(|i| !self.seen[*i].as_ref().is_some_and(|seen| seen.counted))?;
        let served = level * latency_ns(&self.cells[alone]).filter(|_| waits_evenly(&self.cells[alone]))? / 1e9;
        let whole = libm::round(served);
        ((2.0..=PLACES_MAX).contains(&whole) && (served / whole - 1.0).abs() <= WHOLE).then_some(whole)
    }

    /// A level that so many requests at once make.
    pub(super) fn so_many_at_once(&self, level: Evidence, ceiling: f64, rate: f64, places: f64) -> Binding {
        let evidence = level.and(LevelFact::WholePlaces { places }).with(self.how_it_waits());
        Binding { presumed: true, ..inferred(Limit::Parallelism, Some(ceiling), Some(rate / ceiling), evidence) }
    }

    /// Whether a head serves the requests, one after the other.
    fn spins(&self) -> bool {
        self.seen[self.index].as_ref().is_some_and(|seen| seen.spins)
    }

    /// A load whose requests take longer the more are outstanding, though no limit shows: so many are served at once, as many as its rate
    /// would be of requests that wait for nothing.
    fn crowded(&self, rate: f64, served: f64) -> Binding {
        let fewer_ns = self.seen.least_ns(self.index).unwrap_or_default();
        let (takes, rate_iops) = (taken(self.cell()).unwrap_or_default(), rate);
        let evidence = |fact: WaitingFact| Evidence::from(fact).with(self.below_declared()).with(self.how_it_waits());
        if self.makes_each_write_durable() {
            let fact = WaitingFact::DurableEach { takes, fewer_ns, rate_iops, served };
            return inferred(Limit::Flush, None, None, evidence(fact));
        }
        if served < ONE_PLACE {
            let fact = WaitingFact::OneAtATime { takes, fewer_ns, rate_iops };
            return Binding { presumed: true, ..inferred(Limit::Parallelism, None, None, evidence(fact)) };
        }
        let fact = WaitingFact::ServedAtOnce { takes, fewer_ns, rate_iops, served };
        inferred(Limit::Parallelism, None, None, evidence(fact))
    }
}
