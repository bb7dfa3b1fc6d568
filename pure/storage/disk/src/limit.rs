//! A limit in operation: counts a request's units, and computes when it has passed the rates of its direction.

#![expect(
    clippy::inline_always,
    reason = "what is done for each simulated request is one piece of code: with calls between its steps it is a sixth slower"
)]

use crate::gate::{Burst, Gate, Passed, Rate, TokenBucket, Windows};
use crate::{Directions, Fullness, IopsBudget, Limit, ThroughputBudget};
use loadline_block::Operation;
use loadline_units::{Duration, Ratio};

/// Sequential streams that are recognised at once on a disk.
const STREAMS_MAX: usize = 16;

/// How long requests waited at a limit, in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitTimes {
    /// For requests per second.
    pub iops: Duration,
    /// For bytes per second.
    pub throughput: Duration,
    /// Of these, because credits for bursts were spent.
    pub credits: Duration,
}

impl WaitTimes {
    /// The waiting since `earlier`, an account of the same limit.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            iops: self.iops.saturating_sub(earlier.iops),
            throughput: self.throughput.saturating_sub(earlier.throughput),
            credits: self.credits.saturating_sub(earlier.credits),
        }
    }
}

impl std::ops::Add for WaitTimes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            iops: self.iops + other.iops,
            throughput: self.throughput + other.throughput,
            credits: self.credits + other.credits,
        }
    }
}

/// The gates of one resource, by direction.
#[derive(Debug, Clone)]
struct Gates {
    layout: GateLayout,
    waited: u64,
    unsaved: u64,
}

#[derive(Debug, Clone)]
enum GateLayout {
    Unlimited,
    /// Both directions in one gate without bursts. Most limits are of this kind, so it is stored inline.
    Bucket(TokenBucket),
    Windows(Windows),
    Gates(Box<DirectionGates>),
}

#[derive(Debug, Clone)]
enum DirectionGates {
    /// Both directions by one gate.
    Together(Gate),
    /// Reads, then writes.
    Apart([Option<Gate>; 2]),
    /// Both directions by one gate, and the tokens that a unit costs: reads, then writes.
    Traded(Gate, [u64; 2]),
}

impl DirectionGates {
    /// When units of a direction have passed.
    fn pass(&mut self, now: u64, direction: usize, units: u64) -> Passed {
        let (gate, tokens) = match self {
            Self::Together(gate) => (Some(gate), units),
            Self::Apart(gates) => (gates[direction].as_mut(), units),
            Self::Traded(gate, price) => (Some(gate), units * price[direction]),
        };
        gate.map_or(Passed { at: now, unsaved: 0 }, |gate| gate.pass(now, tokens))
    }

    fn gates(&self) -> impl Iterator<Item = &Gate> {
        let gates = match self {
            Self::Together(gate) | Self::Traded(gate, _) => [Some(gate), None],
            Self::Apart([reads, writes]) => [reads.as_ref(), writes.as_ref()],
        };
        gates.into_iter().flatten()
    }

    fn gates_mut(&mut self) -> impl Iterator<Item = &mut Gate> {
        let gates = match self {
            Self::Together(gate) | Self::Traded(gate, _) => [Some(gate), None],
            Self::Apart([reads, writes]) => [reads.as_mut(), writes.as_mut()],
        };
        gates.into_iter().flatten()
    }
}

impl Gates {
    fn new(budget: Option<Directions<Rate>>, gate: impl Fn(Rate) -> Gate) -> Self {
        let by_direction = |gates| GateLayout::Gates(Box::new(gates));
        let layout = match budget {
            None => GateLayout::Unlimited,
            Some(Directions::Together(both)) => match gate(both) {
                Gate::Steady(bucket) => GateLayout::Bucket(bucket),
                Gate::Windows(windows) => GateLayout::Windows(windows),
                gate => by_direction(DirectionGates::Together(gate)),
            },
            Some(Directions::Apart { read, write }) => {
                by_direction(DirectionGates::Apart([read.map(&gate), write.map(&gate)]))
            }
            Some(Directions::Traded { read, write }) => {
                // Tokens of which `read x write` come in a second, less the common factor: exact for both directions.
                let factor = common_factor(read.base, write.base);
                let rate = Rate { base: read.base / factor * write.base, burst: None };
                by_direction(DirectionGates::Traded(gate(rate), [write.base / factor, read.base / factor]))
            }
        };
        Self { layout, waited: 0, unsaved: 0 }
    }

    /// When units of a direction have passed.
    #[inline(never)]
    fn pass(&mut self, now: u64, direction: usize, units: u64) -> u64 {
        let at = match &mut self.layout {
            GateLayout::Unlimited => now,
            GateLayout::Bucket(bucket) => bucket.pass(now, units),
            GateLayout::Windows(windows) => windows.pass(now, units),
            GateLayout::Gates(gates) => {
                let passed = gates.pass(now, direction, units);
                self.unsaved += passed.unsaved;
                passed.at
            }
        };
        self.waited += at - now;
        at
    }

    /// The fast path of [`Gates::pass`]; `None` if it does not apply, and then nothing has changed.
    #[inline(always)]
    fn pass_fast(&mut self, now: u64, units: u64) -> Option<u64> {
        let at = if let GateLayout::Bucket(bucket) = &mut self.layout {
            bucket.pass_fast(now, units)?
        } else if let GateLayout::Windows(windows) = &mut self.layout {
            windows.pass_fast(now, units)?
        } else {
            return None;
        };
        self.waited += at - now;
        Some(at)
    }

    fn spend_credits(&mut self, now: u64) {
        if let GateLayout::Gates(gates) = &mut self.layout {
            gates.gates_mut().for_each(|gate| gate.spend_credits(now));
        }
    }

    fn break_off(&mut self, now: u64) {
        match &mut self.layout {
            GateLayout::Unlimited => {}
            GateLayout::Bucket(bucket) => bucket.break_off(now),
            GateLayout::Windows(windows) => windows.break_off(now),
            GateLayout::Gates(gates) => gates.gates_mut().for_each(|gate| gate.break_off(now)),
        }
    }

    fn credits(&self, now: u64) -> Option<Ratio> {
        let GateLayout::Gates(gates) = &self.layout else { return None };
        gates.gates().filter_map(|gate| gate.credits(now)).min()
    }
}

/// Euclid's algorithm.
pub(crate) const fn common_factor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl From<IopsBudget> for Rate {
    fn from(budget: IopsBudget) -> Self {
        let burst = budget.burst.map(|burst| Burst { rate: burst.rate.get(), credits: burst.credits });
        Self { base: budget.rate.get(), burst }
    }
}

impl From<ThroughputBudget> for Rate {
    fn from(budget: ThroughputBudget) -> Self {
        let burst = budget.burst.map(|burst| Burst { rate: burst.rate.get(), credits: burst.credits.get() });
        Self { base: budget.rate.get(), burst }
    }
}

/// The budgets of both kinds as plain rates.
pub(crate) fn rates<T: Copy + Into<Rate>>(budget: Option<Directions<T>>) -> Option<Directions<Rate>> {
    budget.map(|budget| match budget {
        Directions::Together(both) => Directions::Together(both.into()),
        Directions::Apart { read, write } => {
            Directions::Apart { read: read.map(Into::into), write: write.map(Into::into) }
        }
        Directions::Traded { read, write } => Directions::Traded { read: read.into(), write: write.into() },
    })
}

/// A run of contiguous requests.
#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    direction: usize,
    end: u64,
    /// Bytes of the counted piece that is not full yet.
    piece: u64,
}

/// The requests of a disk that are merged.
#[derive(Debug, Clone)]
struct Merging {
    larger_than: u64,
    streams: [Stream; STREAMS_MAX],
    /// The stream that the next new one replaces.
    oldest: usize,
}

/// The units of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Charge {
    requests: u64,
    bytes: u64,
}

/// A [`Limit`] at work.
#[derive(Debug, Clone)]
pub(crate) struct Limiter {
    iops: Gates,
    throughput: Gates,
    /// A request of at most this many bytes is one unit, whatever came before; 0 if requests are merged.
    one_max: u64,
    least_charge: u64,
    counted_size: Option<u64>,
    merging: Option<Box<Merging>>,
}

impl Limiter {
    /// `seed` places the edges of windows.
    pub(crate) fn new(limit: &Limit, bursts: Fullness, seed: u64) -> Self {
        let gate = |rate| Gate::new(rate, limit.enforcement, seed);
        let counted_size = limit.counted_size.map(loadline_units::Bytes::get);
        let mut limiter = Self {
            iops: Gates::new(rates(limit.iops), gate),
            throughput: Gates::new(rates(limit.throughput), gate),
            one_max: if limit.merge.is_some() { 0 } else { counted_size.unwrap_or(u64::MAX) },
            counted_size,
            least_charge: limit.least_charge.map_or(0, loadline_units::Bytes::get),
            merging: limit.merge.map(|merge| {
                let larger_than = merge.larger_than.get();
                Box::new(Merging { larger_than, streams: [Stream::default(); STREAMS_MAX], oldest: 0 })
            }),
        };
        if bursts == Fullness::Empty {
            limiter.spend_credits(0);
        }
        limiter
    }

    /// When a request that reaches the limit at `now` has passed it.
    ///
    /// The slow path is in separate functions, so that the fast path saves no registers for a call.
    pub(crate) fn pass(&mut self, now: u64, operation: Operation, offset: u64, length: u64) -> u64 {
        let moves_bytes = matches!(operation, Operation::Read | Operation::Write);
        if !moves_bytes || length == 0 || length > self.one_max {
            return self.pass_counted(now, operation, offset, length);
        }
        let Some(at) = self.iops.pass_fast(now, 1) else { return self.pass_counted(now, operation, offset, length) };
        let bytes = length.max(self.least_charge);
        match self.throughput.pass_fast(at, bytes) {
            Some(at) => at,
            None => self.throughput.pass(at, usize::from(operation != Operation::Read), bytes),
        }
    }

    /// [`Limiter::pass`] for any request.
    #[inline(never)]
    fn pass_counted(&mut self, now: u64, operation: Operation, offset: u64, length: u64) -> u64 {
        let direction = usize::from(operation != Operation::Read);
        let charge = match operation {
            Operation::Flush => return now,
            Operation::Trim => Charge { requests: 1, bytes: 0 },
            Operation::Read | Operation::Write => self.charge(direction, offset, length),
        };
        let mut at = now;
        if charge.requests > 0 {
            at = self.iops.pass(at, direction, charge.requests);
        }
        if charge.bytes > 0 {
            at = self.throughput.pass(at, direction, charge.bytes);
        }
        at
    }

    fn charge(&mut self, direction: usize, offset: u64, length: u64) -> Charge {
        if self.merging.is_some() {
            return self.charge_merged(direction, offset, length);
        }
        let requests = match self.counted_size {
            Some(size) if length > size => length.div_ceil(size),
            _ => 1,
        };
        Charge { requests, bytes: length.max(self.least_charge) }
    }

    fn charge_merged(&mut self, direction: usize, offset: u64, length: u64) -> Charge {
        let merging = self.merging.as_mut().expect("requests are merged here");
        let size = self.counted_size.unwrap_or(length).max(1);
        let alone = Charge { requests: length.div_ceil(size).max(1), bytes: length.max(self.least_charge) };
        if length <= merging.larger_than {
            return alone;
        }
        let known = merging.streams.iter_mut().find(|s| s.end == offset && s.direction == direction && s.end > 0);
        if let Some(stream) = known {
            let piece = stream.piece + length;
            let requests = piece.div_ceil(size) - stream.piece.div_ceil(size);
            (stream.end, stream.piece) = (offset + length, piece % size);
            return Charge { requests, bytes: length };
        }
        merging.streams[merging.oldest] = Stream { direction, end: offset + length, piece: length % size };
        merging.oldest = (merging.oldest + 1) % STREAMS_MAX;
        alone
    }

    /// Spends all credits of bursts.
    pub(crate) fn spend_credits(&mut self, now: u64) {
        self.iops.spend_credits(now);
        self.throughput.spend_credits(now);
    }

    /// Forgets those who have not passed by `now`.
    pub(crate) fn break_off(&mut self, now: u64) {
        self.iops.break_off(now);
        self.throughput.break_off(now);
    }

    /// The share of credits that are left, of the gate that has least; `None`: no gate saves any.
    pub(crate) fn credits(&self, now: u64) -> Option<Ratio> {
        [self.iops.credits(now), self.throughput.credits(now)].into_iter().flatten().min()
    }

    /// How long requests have waited here so far.
    pub(crate) fn waited(&self) -> WaitTimes {
        WaitTimes {
            iops: Duration::from_ns(self.iops.waited),
            throughput: Duration::from_ns(self.throughput.waited),
            credits: Duration::from_ns(self.iops.unsaved + self.throughput.unsaved),
        }
    }
}
