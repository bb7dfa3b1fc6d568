//! A rate at which a device stops though more waits: a limit that nobody declared.

use super::course::{Beside, Moment};
use crate::limits::sold_limit;
use loadline_record::{Limit, Rate, WatchTick};

/// A second counts where the device was busy for so much of it.
const BUSY_MIN: f64 = 0.6;
/// And had so many requests outstanding, flushes apart.
const OUTSTANDING_MIN: f64 = 1.5;
/// Seconds that make a level.
const MEMBERS_MIN: usize = 4;
/// And their share of those that count.
const MEMBERS_SHARE: f64 = 0.3;
/// A level that more seconds are on than on another, by this factor, is the limit.
const MORE_MEMBERS: f64 = 1.25;
/// Rates of one level lie so near to it.
const NEAR: f64 = 0.04;
/// Rates above it: a level is the most.
const ABOVE: f64 = 0.06;
/// Seconds above it, as a share, or one of few: what a bucket had saved.
const ABOVE_SHARE: f64 = 0.1;
/// The queue grew if it was once so many times as long as another time.
const GROWTH: f64 = 1.5;
/// A rate so steady is made by a rule.
const STEADY: f64 = 0.012;
/// If it is so for this share of the time.
const STEADY_SHARE: f64 = 0.8;
/// What waits varies if its spread is this or more.
const QUEUE_VARIES: f64 = 0.02;
/// A rate whose spread is less than this share of that of what waits does not follow it.
const APART: f64 = 0.5;
/// A rate that fell by more than this to its level was a burst before.
const BURST: f64 = 1.2;

/// Figures as limits have them, between 1 and 10, at any power of ten.
const ROUND: [f64; 18] = [1.0, 1.1, 1.2, 1.25, 1.5, 1.6, 2.0, 2.3, 2.4, 2.5, 3.0, 3.2, 4.0, 5.0, 6.0, 7.5, 8.0, 9.0];
/// A rate so near to one is round.
const ROUND_OFF: f64 = 0.01;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    Requests,
    Bytes,
}

impl Counted {
    const fn limit(self) -> Limit {
        match self {
            Self::Requests => Limit::DiskIops,
            Self::Bytes => Limit::DiskThroughput,
        }
    }
    /// Whether limits have such figures.
    fn is_round(self, rate: f64) -> bool {
        let round = |value: f64| {
            let power = libm::pow(10.0, libm::floor(libm::log10(value.max(1e-9))));
            ROUND.iter().chain(&[10.0]).any(|figure| (value / power / figure - 1.0).abs() <= ROUND_OFF)
        };
        match self {
            Self::Requests => round(rate),
            Self::Bytes => round(rate) || round(rate / f64::from(1 << 20)),
        }
    }
}

/// A level.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a reason of its own to take it for a limit, or not")]
pub(super) struct Level {
    /// What is level.
    pub(super) limit: Limit,
    /// Requests or bytes per second.
    pub(super) rate: f64,
    /// Whether each second is on it.
    pub(super) members: Vec<bool>,
    /// The shortest and the longest queue on it.
    pub(super) queues: (f64, f64),
    /// Whether the queue never grew, and that the rate is even says alone that it is a limit.
    pub(super) presumed: bool,
    /// Whether limits have such figures.
    pub(super) is_round: bool,
    /// Whether it varies much less than what waits.
    is_apart: bool,
    /// The rate before, where it was higher.
    pub(super) before: Option<f64>,
    /// Whether it is that of all volumes that were watched, together.
    pub(super) is_joint: bool,
}

impl Level {
    /// A rate of what it counts.
    pub(super) const fn counted(&self, per_s: f64) -> Rate {
        match self.limit {
            Limit::DiskThroughput | Limit::VmUncachedThroughput => Rate::BytesPerS(per_s),
            _ => Rate::Iops(per_s),
        }
    }
    /// The same with moments as its members, of which `places` says which parts are theirs: those with half of their parts on it.
    pub(super) fn of_moments(self, count: usize, places: &[usize]) -> Self {
        let (mut on, mut all) = (vec![0; count], vec![0; count]);
        for (place, is_member) in places.iter().zip(&self.members) {
            all[*place] += 1;
            on[*place] += u32::from(*is_member);
        }
        let members = on.iter().zip(&all).map(|(on, all)| *on > 0 && *on * 2 >= *all).collect();
        Self { members, ..self }
    }
}

/// The level of volumes that were watched together, where each asked for something in every second that counts: a limit of the machine, or
/// of what they share. It is presumed: what an application keeps by itself, shared out among disks, looks alike.
pub(super) fn joint_level(all: &[Moment], beside: &[Beside<'_>]) -> Option<Level> {
    let joined: Vec<Moment> = all
        .iter()
        .enumerate()
        .map(|(place, moment)| {
            let others = || beside.iter().filter_map(|other| other.parts.get(place));
            Moment {
                tick: others().map(|other| other.tick).fold(moment.tick, WatchTick::beside),
                busy: others().map(|other| other.busy).fold(moment.busy, f64::min),
                outstanding: others().map(|other| other.outstanding).fold(moment.outstanding, |sum, own| sum + own),
                ..moment.clone()
            }
        })
        .collect();
    let found = level(&joined, false)?;
    let limit = match found.limit {
        Limit::DiskThroughput => Limit::VmUncachedThroughput,
        _ => Limit::VmUncachedIops,
    };
    Some(Level { limit, presumed: true, is_joint: true, ..found })
}

/// The level of a watch, if it has one. `in_clusters` says that answers come as a rate limiter lets them through.
///
/// Under a queue of about one length an even rate is a level if its figure is round, if it does not follow the little by which the queue
/// varies, if a higher one came before, or if answers come in clusters. Requests of one size are as even in bytes: a figure that is round in either says that a limit is there, and figures as disks are sold say which.
pub(super) fn level(all: &[Moment], in_clusters: bool) -> Option<Level> {
    let counts: Vec<usize> = (0..all.len())
        .filter(|place| all[*place].busy >= BUSY_MIN && queued(&all[*place]) >= OUTSTANDING_MIN)
        .collect();
    let found = [Counted::Requests, Counted::Bytes].map(|quantity| of(all, &counts, quantity));
    let is_set =
        in_clusters || found.iter().flatten().any(|level| level.is_round || level.is_apart || level.before.is_some());
    let counted = |level: &Level| !level.presumed || is_set;
    match found {
        [Some(requests), Some(bytes)] => match (counted(&requests), counted(&bytes)) {
            (true, true) => Some(nearer(all, requests, bytes)),
            (true, false) => Some(requests),
            (false, true) => Some(bytes),
            (false, false) => None,
        },
        [requests, bytes] => requests.or(bytes).filter(counted),
    }
}

/// Mean of the requests outstanding but for flushes: a write that asks for a flush first has that flush's time in its own.
fn queued(moment: &Moment) -> f64 {
    moment.outstanding - moment.tick.flush_ms as f64 / 1e3 / moment.seconds
}

fn amount(moment: &Moment, quantity: Counted) -> f64 {
    match quantity {
        Counted::Requests => moment.iops(),
        Counted::Bytes => moment.bytes_per_s(),
    }
}

fn of(all: &[Moment], counts: &[usize], quantity: Counted) -> Option<Level> {
    let rate_of = |place: &usize| amount(&all[*place], quantity);
    let before = burst(all, counts, quantity);
    let among = &counts[before.map_or(0, |(at, _)| at)..];
    let mut rates: Vec<f64> = among.iter().map(rate_of).collect();
    rates.sort_by(f64::total_cmp);
    let upper = *rates.get(rates.len() * 3 / 4)?;
    let is_near = |rate: f64| (rate / upper - 1.0).abs() <= NEAR;
    let members: Vec<usize> = among.iter().copied().filter(|place| is_near(rate_of(place))).collect();
    let above = rates.iter().filter(|rate| **rate > upper * (1.0 + ABOVE)).count();
    let enough = members.len() >= MEMBERS_MIN && members.len() as f64 >= among.len() as f64 * MEMBERS_SHARE;
    if !enough || above as f64 > (among.len() as f64 * ABOVE_SHARE).max(1.0) {
        return None;
    }
    let mut own: Vec<f64> = members.iter().map(rate_of).collect();
    own.sort_by(f64::total_cmp);
    let rate = own[own.len() / 2];
    let mut queues: Vec<f64> = members.iter().map(|place| all[*place].outstanding).collect();
    queues.sort_by(f64::total_cmp);
    let (short, long) = (queues[queues.len() / 10], queues[queues.len() * 9 / 10]);
    let grew = long >= short * GROWTH;
    // Those near one rate are alike by choice: whether it follows what waits shows over all.
    let all_queues: Vec<f64> = among.iter().map(|place| all[*place].outstanding).collect();
    let is_apart = is_apart(&rates, &all_queues);
    // A queue of one length shows no limit by itself: an even rate may, and one that does not follow what waits.
    let is_steady = spread(&own) <= STEADY && members.len() as f64 >= among.len() as f64 * STEADY_SHARE;
    if !grew && !is_apart && !is_steady {
        return None;
    }
    let mut on = vec![false; all.len()];
    for place in members {
        on[place] = true;
    }
    let before = before.map(|(_, rate)| rate);
    let is_round = quantity.is_round(rate);
    let limit = quantity.limit();
    Some(Level {
        limit,
        rate,
        members: on,
        queues: (short, long),
        presumed: !grew,
        is_round,
        is_apart,
        before,
        is_joint: false,
    })
}

/// Where a higher rate ends for good, among those that count, and how high it was.
fn burst(all: &[Moment], counts: &[usize], quantity: Counted) -> Option<(usize, f64)> {
    let rates: Vec<f64> = counts.iter().map(|place| amount(&all[*place], quantity)).collect();
    let median = |part: &[f64]| {
        let mut sorted = part.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let at = (2..rates.len().saturating_sub(MEMBERS_MIN - 1)).find(|at| {
        let (early, late) = rates.split_at(*at);
        let most_late = late.iter().copied().fold(0.0, f64::max);
        let least_early = early.iter().copied().fold(f64::INFINITY, f64::min);
        least_early > most_late * BURST
    })?;
    Some((at, median(&rates[..at])))
}

/// Whether a rate varies much less than what waits. Where answers take their time, whatever the rate, the two vary alike (Little's law).
fn is_apart(rates: &[f64], queues: &[f64]) -> bool {
    let (rate, queue) = (spread(rates), spread(queues));
    queue >= QUEUE_VARIES && rate <= queue * APART
}

/// Standard deviation over the mean.
fn spread(rates: &[f64]) -> f64 {
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    let squares: f64 = rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum();
    libm::sqrt(squares / rates.len().max(1) as f64) / mean.max(1e-9)
}

/// Of a level of requests and one of bytes, the one that is a limit. Requests of one size have both: then figures as disks are sold
/// decide.
fn nearer(all: &[Moment], requests: Level, bytes: Level) -> Level {
    let of = |level: &Level, quantity| {
        let rates: Vec<f64> =
            (0..all.len()).filter(|place| level.members[*place]).map(|place| amount(&all[place], quantity)).collect();
        spread(&rates)
    };
    let seconds = |level: &Level| level.members.iter().filter(|on| **on).count() as f64;
    if seconds(&bytes) > seconds(&requests) * MORE_MEMBERS {
        return bytes;
    }
    if seconds(&requests) > seconds(&bytes) * MORE_MEMBERS {
        return requests;
    }
    let (in_requests, in_bytes) = (of(&requests, Counted::Requests), of(&bytes, Counted::Bytes));
    if in_requests > in_bytes * 2.0 && in_requests > STEADY {
        return bytes;
    }
    if in_bytes > in_requests * 2.0 && in_bytes > STEADY {
        return requests;
    }
    let block = bytes.rate / requests.rate.max(1e-9);
    if sold_limit(requests.rate, block) == Limit::DiskThroughput { bytes } else { requests }
}
