//! Rate limiters in closed form: token buckets and windows compute exactly when a request passes.
//!
//! A gate serves in the order of calls. It takes the time at which a request reaches it and returns the time at which
//! the request passes. Nothing happens in between, so a gate costs the same however long it was idle.

#![expect(
    clippy::inline_always,
    reason = "what is done for each simulated request is one piece of code: with calls between its steps it is a sixth slower"
)]

use crate::Enforcement;
use loadline_units::{NS_PER_S, Ratio};

/// A token bucket in virtual time (the generic cell rate algorithm, ITU-T I.371). It stores the moment at which the
/// bucket will be full again. With no depth it is an even rate.
///
/// Invariant: `rest < rate`; the moment is `full_at + rest / rate` ns, exactly.
#[derive(Debug, Clone)]
pub(crate) struct TokenBucket {
    /// Tokens per second.
    rate: u64,
    /// Depth as time at the rate, ns.
    depth: u64,
    full_at: u64,
    rest: u64,
    memo: Price,
}

/// The time of some tokens, `whole + rest / rate` ns, and the bucket's depth less that time.
#[derive(Debug, Clone, Copy, Default)]
struct Price {
    tokens: u64,
    whole: u64,
    rest: u64,
    spare: u64,
}

impl TokenBucket {
    fn new(rate: u64, depth: u64) -> Self {
        Self { rate, depth, full_at: 0, rest: 0, memo: Price { spare: depth, ..Price::default() } }
    }

    /// When `tokens`, requested at `now`, have passed. More tokens than the bucket's depth pass when it is full and
    /// leave a debt.
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: u64, tokens: u64) -> u64 {
        if self.memo.tokens != tokens {
            self.memo = self.price(tokens);
        }
        self.pass_at_price(now)
    }

    /// [`TokenBucket::pass`] for the same number of tokens as the last time.
    #[inline(always)]
    pub(crate) fn pass_fast(&mut self, now: u64, tokens: u64) -> Option<u64> {
        (self.memo.tokens == tokens).then(|| self.pass_at_price(now))
    }

    #[inline(always)]
    fn pass_at_price(&mut self, now: u64) -> u64 {
        let price = self.memo;
        if self.full_at < now {
            (self.full_at, self.rest) = (now, 0);
        }
        let passed_at = if price.spare > 0 {
            // These tokens fit into the bucket: they pass once it has as many.
            let rest = self.rest + price.rest;
            let carry = u64::from(rest > 0) + u64::from(rest > self.rate);
            now.max((self.full_at + carry).saturating_sub(price.spare))
        } else {
            self.full_at + u64::from(self.rest > 0)
        };
        self.full_at += price.whole;
        self.rest += price.rest;
        if self.rest >= self.rate {
            self.rest -= self.rate;
            self.full_at += 1;
        }
        passed_at
    }

    fn price(&self, tokens: u64) -> Price {
        let ns = u128::from(tokens) * u128::from(NS_PER_S);
        let rate = u128::from(self.rate);
        let whole = u64::try_from(ns / rate).unwrap_or(u64::MAX / 4);
        Price {
            tokens,
            whole,
            spare: self.depth.saturating_sub(whole),
            rest: u64::try_from(ns % rate).expect("a remainder is smaller than its divisor"),
        }
    }

    /// Empties the bucket; a debt stays.
    fn empty(&mut self, now: u64) {
        self.full_at = self.full_at.max(now + self.depth);
    }

    /// Cancels a debt.
    pub(crate) fn break_off(&mut self, now: u64) {
        if self.full_at > now + self.depth {
            (self.full_at, self.rest) = (now + self.depth, 0);
        }
    }

    /// The saved share of the depth; `None`: no depth.
    fn level(&self, now: u64) -> Option<Ratio> {
        let missing = self.full_at.saturating_sub(now);
        share(u128::from(self.depth.saturating_sub(missing)), u128::from(self.depth))
    }
}

/// `part` of `whole`, rounded down; `None` of nothing.
fn share(part: u128, whole: u128) -> Option<Ratio> {
    let ppm = part.min(whole).checked_mul(u128::from(Ratio::ONE.as_ppm()))?.checked_div(whole)?;
    Ratio::ppm(u32::try_from(ppm).ok()?)
}

/// A quota in each window of time, plus what bursts may draw from the credit bank.
///
/// The fast path counts whole tokens: a window admits a request as long as fewer than `room` have passed.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    /// The end of the current window, and when the last request passed.
    end: u64,
    last: u64,
    room: u64,
    passed: u64,
    quota: Box<Quota>,
}

/// More than any rate gives in a window, and low enough that the count never overflows.
const ROOM_MAX: u64 = u64::MAX / 2;

/// The quota of windows, in nano-tokens.
#[derive(Debug, Clone)]
struct Quota {
    length: u64,
    jitter: u64,
    seed: u64,
    /// The quota of the plain rate in each window.
    base: u128,
    /// The most that a window may give while the bank lasts; `base` without burst.
    most: u128,
    bank: u128,
    bank_max: u128,
    /// Number of the current window, its quota, and the debt at its start.
    number: u64,
    allowed: u128,
    owed: u128,
}

/// SplitMix64's finisher: a hash for window edges, which must not depend on the time of the call.
const fn scramble(value: u64) -> u64 {
    let mut z = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Windows {
    fn new(rate: u64, burst: Option<(u64, u64)>, length: u64, jitter: u64, seed: u64) -> Self {
        let in_window = |rate: u64| u128::from(rate) * u128::from(length);
        let base = in_window(rate);
        let (most, bank) = burst.map_or((base, 0), |(rate, credits)| {
            (in_window(rate).max(base), u128::from(credits) * u128::from(NS_PER_S))
        });
        let quota = Quota { length, jitter, seed, base, most, bank, bank_max: bank, number: 0, allowed: 0, owed: 0 };
        let mut windows = Self { end: 0, last: 0, room: 0, passed: 0, quota: Box::new(quota) };
        let first = windows.quota.number_at(0);
        windows.begin(first, 0);
        windows
    }

    pub(crate) fn pass(&mut self, now: u64, tokens: u64) -> u64 {
        let mut at = now.max(self.last);
        if at >= self.end || self.passed >= self.room {
            at = self.wait(at);
        }
        self.passed += tokens;
        self.last = at;
        at
    }

    /// [`Windows::pass`], if the current window has room.
    #[inline(always)]
    pub(crate) fn pass_fast(&mut self, now: u64, tokens: u64) -> Option<u64> {
        let at = now.max(self.last);
        if at >= self.end || self.passed >= self.room {
            return None;
        }
        self.passed += tokens;
        self.last = at;
        Some(at)
    }

    /// [`Windows::pass`], if windows may have different quotas.
    #[inline(never)]
    fn pass_bursting(&mut self, now: u64, tokens: u64) -> Passed {
        let at = self.pass(now, tokens);
        // In a window below the burst's quota, all waiting is for lack of credits.
        Passed { at, unsaved: if self.quota.allowed < self.quota.most { at - now } else { 0 } }
    }

    /// When a request that comes at `at` finds a window with room.
    fn wait(&mut self, mut at: u64) -> u64 {
        loop {
            if at >= self.end {
                self.roll(at);
            }
            if self.passed < self.room {
                return at;
            }
            at = self.end;
        }
    }

    /// Returns to the window of `now`, with its full quota.
    pub(crate) fn break_off(&mut self, now: u64) {
        if self.last > now {
            self.last = now;
            let number = self.quota.number_at(now);
            self.begin(number, 0);
        }
    }

    /// Spends all credits.
    fn spend_credits(&mut self, now: u64) {
        if now >= self.end {
            self.roll(now);
        }
        self.quota.bank = 0;
        self.give();
    }

    /// How many credits are left at `now`, as a share of all that may be saved.
    fn credits(&self, now: u64) -> Option<Ratio> {
        // A query must change nothing.
        let mut windows = self.clone();
        if now >= windows.end {
            windows.roll(now);
        }
        let (used, quota) = (windows.used(), &windows.quota);
        share(quota.bank.saturating_sub(used.saturating_sub(quota.base)), quota.bank_max)
    }

    /// The used part of the current window, nano-tokens.
    fn used(&self) -> u128 {
        self.quota.owed + u128::from(self.passed) * u128::from(NS_PER_S)
    }

    /// Moves on to the window of `at`. The next window pays the excess of one request over its window.
    fn roll(&mut self, at: u64) {
        let mut used = self.used();
        let quota = &mut *self.quota;
        let number = quota.number_at(at);
        let mut left = number - quota.number;
        let mut allowed = quota.allowed;
        while left > 0 && used > 0 {
            let over = used.saturating_sub(allowed);
            quota.bank = (quota.base + quota.bank - (used - over)).min(quota.bank_max);
            used = over;
            allowed = quota.allows();
            left -= 1;
        }
        quota.bank = (quota.bank + quota.base.saturating_mul(u128::from(left))).min(quota.bank_max);
        self.begin(number, used);
    }

    /// Begins a window with this debt.
    fn begin(&mut self, number: u64, owed: u128) {
        (self.quota.number, self.quota.owed, self.passed) = (number, owed, 0);
        self.end = self.quota.edge(number + 1);
        self.give();
    }

    /// Sets the current window's quota: a request passes as long as less was used.
    fn give(&mut self) {
        let quota = &mut *self.quota;
        quota.allowed = quota.allows();
        let room = quota.allowed.saturating_sub(quota.owed).div_ceil(u128::from(NS_PER_S));
        self.room = u64::try_from(room).map_or(ROOM_MAX, |room| room.min(ROOM_MAX));
    }
}

impl Quota {
    /// The quota of a window with the present credit bank.
    fn allows(&self) -> u128 {
        self.most.min(self.base + self.bank)
    }

    /// Start of window `number`. Each gate has its own phase, so that gates do not open all at once.
    fn edge(&self, number: u64) -> u64 {
        let phase = scramble(self.seed) % self.length;
        let early = if self.jitter == 0 {
            0
        } else {
            scramble(self.seed ^ number.wrapping_mul(0xd134_2543_de82_ef95)) % (2 * self.jitter + 1)
        };
        // Shifted by two lengths, so that time 0 lies in no negative window.
        (number * self.length + phase + 2 * self.jitter - early).saturating_sub(2 * self.length)
    }

    fn number_at(&self, now: u64) -> u64 {
        let mut number = (now / self.length).saturating_sub(1);
        while self.edge(number + 1) <= now {
            number += 1;
        }
        number
    }
}

/// When a request has passed a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passed {
    /// The moment, ns.
    pub(crate) at: u64,
    /// How long it waited because saved-up credits were spent, ns.
    pub(crate) unsaved: u64,
}

/// A rate under its enforcement, with saved-up credits if it may burst.
#[derive(Debug, Clone)]
pub(crate) enum Gate {
    Steady(TokenBucket),
    Bursting(Box<Bursting>),
    Windows(Windows),
    BurstingWindows(Windows),
}

/// The rate of the burst, and the credits that the base rate fills.
#[derive(Debug, Clone)]
pub(crate) struct Bursting {
    burst: TokenBucket,
    credits: TokenBucket,
}

/// The rate of a gate: tokens per second, and tokens that may be saved up for a faster rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) base: u64,
    pub(crate) burst: Option<Burst>,
}

/// A faster rate while credits last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Burst {
    pub(crate) rate: u64,
    pub(crate) credits: u64,
}

impl Gate {
    pub(crate) fn new(rate: Rate, enforcement: Enforcement, seed: u64) -> Self {
        match enforcement {
            Enforcement::Window { length, jitter } => {
                let burst = rate.burst.map(|burst| (burst.rate, burst.credits));
                let windows = Windows::new(rate.base, burst, length.as_ns(), jitter.as_ns(), seed);
                if rate.burst.is_some() { Self::BurstingWindows(windows) } else { Self::Windows(windows) }
            }
            Enforcement::Smooth | Enforcement::Bucket { .. } => {
                let depth = if let Enforcement::Bucket { depth } = enforcement { depth.as_ns() } else { 0 };
                match rate.burst {
                    None => Self::Steady(TokenBucket::new(rate.base, depth)),
                    Some(burst) => {
                        let saved = u128::from(burst.credits) * u128::from(NS_PER_S) / u128::from(rate.base);
                        let saved = u64::try_from(saved).unwrap_or(u64::MAX / 4).min(u64::MAX / 4);
                        Self::Bursting(Box::new(Bursting {
                            burst: TokenBucket::new(burst.rate.max(rate.base), depth),
                            credits: TokenBucket::new(rate.base, saved.max(depth)),
                        }))
                    }
                }
            }
        }
    }

    /// Spends all credits of bursts.
    pub(crate) fn spend_credits(&mut self, now: u64) {
        match self {
            Self::Steady(_) => {}
            Self::Bursting(both) => both.credits.empty(now),
            Self::Windows(windows) | Self::BurstingWindows(windows) => windows.spend_credits(now),
        }
    }

    /// Drops requests that have not passed by `now`: later ones do not wait for them. The credits that they had used
    /// stay spent.
    pub(crate) fn break_off(&mut self, now: u64) {
        match self {
            Self::Steady(bucket) => bucket.break_off(now),
            Self::Bursting(both) => {
                both.burst.break_off(now);
                both.credits.break_off(now);
            }
            Self::Windows(windows) | Self::BurstingWindows(windows) => windows.break_off(now),
        }
    }

    /// How many credits of bursts are left at `now`, as a share of all that may be saved; `None`: it has none.
    pub(crate) fn credits(&self, now: u64) -> Option<Ratio> {
        match self {
            Self::Steady(_) => None,
            Self::Bursting(both) => both.credits.level(now),
            Self::Windows(windows) | Self::BurstingWindows(windows) => windows.credits(now),
        }
    }

    /// When `tokens` that reach the gate at `now` have passed.
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: u64, tokens: u64) -> Passed {
        match self {
            Self::Steady(bucket) => Passed { at: bucket.pass(now, tokens), unsaved: 0 },
            Self::Windows(windows) => Passed { at: windows.pass(now, tokens), unsaved: 0 },
            Self::BurstingWindows(windows) => windows.pass_bursting(now, tokens),
            Self::Bursting(both) => both.pass(now, tokens),
        }
    }
}

impl Bursting {
    #[inline(never)]
    fn pass(&mut self, now: u64, tokens: u64) -> Passed {
        let at = self.burst.pass(now, tokens);
        let saved_at = self.credits.pass(at, tokens);
        Passed { at: saved_at, unsaved: saved_at - at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Duration;
    use proptest::prelude::*;

    const S: u64 = NS_PER_S;

    fn steady(base: u64) -> Rate {
        Rate { base, burst: None }
    }

    /// How many single tokens, all requested at once, pass until `end`.
    fn passed_until(gate: &mut Gate, end: u64) -> u64 {
        (0..u64::MAX).take_while(|_| gate.pass(0, 1).at < end).count() as u64
    }

    #[test]
    fn a_smooth_rate_passes_exactly_its_rate() {
        for rate in [1, 3, 7, 500, 5_000, 12_800, 999_983] {
            assert_eq!(passed_until(&mut Gate::new(steady(rate), Enforcement::Smooth, 0), 3 * S), 3 * rate);
        }
    }

    #[test]
    fn a_bucket_gives_its_depth_at_once_and_then_its_rate() {
        let enforcement = Enforcement::Bucket { depth: Duration::from_s(1) };
        let mut gate = Gate::new(steady(1_000), enforcement, 0);
        // The depth, the rate over 10 s, and the first token after them.
        assert_eq!(passed_until(&mut gate, 10 * S + 1), 1_000 + 10_000);
    }

    #[test]
    fn a_window_gives_its_quota_when_it_begins() {
        let enforcement = Enforcement::Window { length: Duration::from_ms(50), jitter: Duration::ZERO };
        let mut gate = Gate::new(steady(5_000), enforcement, 7);
        let times: Vec<u64> = (0..1_500).map(|_| gate.pass(0, 1).at).collect();
        let edge = times[250];
        for (number, cluster) in times[250..].chunks(250).enumerate() {
            assert!(cluster.iter().all(|at| *at == edge + number as u64 * 50_000_000), "window {number}");
        }
    }

    #[test]
    fn a_request_larger_than_its_window_is_paid_for_by_the_next_ones() {
        let enforcement = Enforcement::Window { length: Duration::from_ms(50), jitter: Duration::ZERO };
        let mut gate = Gate::new(steady(10_000_000), enforcement, 3);
        let last = (0..1_000).map(|_| gate.pass(0, 1 << 20).at).last().unwrap();
        let exact = (1u64 << 20) * 1_000 * 100;
        assert!(last.abs_diff(exact) < 200_000_000, "{last} for {exact}");
    }

    #[test]
    fn credits_last_as_long_as_they_were_sized_for_and_come_back_when_unused() {
        let rate = Rate { base: 500, burst: Some(Burst { rate: 3_500, credits: 3_000 * 1_800 }) };
        let window = Enforcement::Window { length: Duration::from_ms(50), jitter: Duration::from_ms(3) };
        for enforcement in [Enforcement::Smooth, Enforcement::Bucket { depth: Duration::from_s(1) }, window] {
            let mut gate = Gate::new(rate, enforcement, 11);
            let mut last = 0;
            for _ in 0..3_500 * 1_799 {
                last = gate.pass(0, 1).at;
            }
            assert!(last.abs_diff(1_799 * S) <= S, "{enforcement:?}: at full rate {last}");
            for _ in 0..3_500 + 500 * 100 {
                last = gate.pass(0, 1).at;
            }
            assert!(last.abs_diff(1_900 * S) <= 2 * S, "{enforcement:?}: after the burst {last}");
            // An hour unused fills 1.8 million credits: 600 s of burst.
            let begin = last + 3_600 * S;
            for _ in 0..3_500 * 590 {
                last = gate.pass(begin, 1).at;
            }
            assert!(last.abs_diff(begin + 590 * S) <= 2 * S, "{enforcement:?}: after a rest {last}");
        }
    }

    #[test]
    fn without_credits_a_burst_never_begins() {
        let rate = Rate { base: 100, burst: Some(Burst { rate: 3_000, credits: 5_400_000 }) };
        for enforcement in
            [Enforcement::Smooth, Enforcement::Window { length: Duration::from_ms(50), jitter: Duration::ZERO }]
        {
            let mut gate = Gate::new(rate, enforcement, 0);
            gate.spend_credits(0);
            let passed = passed_until(&mut gate, 100 * S);
            assert!(passed.abs_diff(10_000) <= 10, "{passed}");
        }
    }

    fn enforcements() -> impl Strategy<Value = Enforcement> {
        prop_oneof![
            Just(Enforcement::Smooth),
            (0u64..2_000).prop_map(|ms| Enforcement::Bucket { depth: Duration::from_ms(ms) }),
            (2u64..200, 0u64..50).prop_map(|(ms, share)| Enforcement::Window {
                length: Duration::from_ms(ms),
                jitter: Duration::from_us(ms * 1_000 * share / 101),
            }),
        ]
    }

    proptest! {
        /// Over any stretch, no more passes than the rate, the depth and one request allow.
        #[test]
        fn no_budget_is_exceeded_beyond_its_depth(
            rate in 1u64..100_000, enforcement in enforcements(), seed in any::<u64>(),
            asks in prop::collection::vec((0u64..20_000_000, 1u64..2_000), 1..300),
        ) {
            let mut gate = Gate::new(steady(rate), enforcement, seed);
            let (mut now, mut passed) = (0, Vec::new());
            for (gap, tokens) in asks {
                now += gap;
                let at = gate.pass(now, tokens).at;
                prop_assert!(at >= now);
                passed.push((at, tokens));
            }
            prop_assert!(passed.is_sorted_by_key(|(at, _)| *at), "requests pass in their order");
            for begin in 0..passed.len() {
                let mut sum = 0u128;
                for (at, tokens) in &passed[begin..] {
                    // The excess of one request is a debt: the last one of a stretch does not count against it.
                    let span = u128::from(at - passed[begin].0);
                    let allowed = match enforcement {
                        Enforcement::Smooth => span * u128::from(rate),
                        Enforcement::Bucket { depth } => (span + u128::from(depth.as_ns())) * u128::from(rate),
                        Enforcement::Window { length, jitter } => {
                            let (length, jitter) = (u128::from(length.as_ns()), u128::from(jitter.as_ns()));
                            ((span + 2 * jitter) / length + 2) * length * u128::from(rate)
                        }
                    };
                    let first = u128::from(passed[begin].1) * u128::from(S);
                    prop_assert!(sum <= allowed + first + u128::from(rate), "{sum} of {allowed} at {at}");
                    sum += u128::from(*tokens) * u128::from(S);
                }
            }
        }

        /// A gate that always has something waiting passes its whole rate.
        #[test]
        fn a_busy_gate_passes_its_whole_rate(
            rate in 100u64..100_000, enforcement in enforcements(), seed in any::<u64>(), tokens in 1u64..100,
        ) {
            let mut gate = Gate::new(steady(rate), enforcement, seed);
            let count = 4 * rate / tokens;
            let last = (0..count).map(|_| gate.pass(0, tokens).at).last().unwrap_or(0);
            let exact = u128::from(count * tokens) * u128::from(S) / u128::from(rate);
            let slack = match enforcement {
                Enforcement::Smooth => 0,
                Enforcement::Bucket { depth } => u128::from(depth.as_ns()),
                Enforcement::Window { length, jitter } => 2 * u128::from(length.as_ns() + jitter.as_ns()),
            } + 2 * u128::from(tokens) * u128::from(S) / u128::from(rate) + 2;
            prop_assert!(u128::from(last).abs_diff(exact) <= slack, "{last} for {exact}");
        }

        #[test]
        fn edges_do_not_depend_on_how_often_we_look(seed in any::<u64>(), looks in prop::collection::vec(0u64..500_000_000, 1..50)) {
            let enforcement = Enforcement::Window { length: Duration::from_ms(50), jitter: Duration::from_ms(5) };
            let (mut often, mut once) = (Gate::new(steady(20), enforcement, seed), Gate::new(steady(20), enforcement, seed));
            let mut now = 0;
            for look in looks {
                now += look;
                often.pass(now, 0);
            }
            let far = now + 10 * S;
            for _ in 0..50 {
                prop_assert_eq!(often.pass(far, 1).at, once.pass(far, 1).at);
            }
        }
    }
}
