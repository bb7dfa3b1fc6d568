//! Watches along the clock: a part of one, and several that followed one another as one.

use crate::{ProgramSecond, WatchCost, WatchGap, WatchRecord, WatchedProgram, WatchedThrottle};
use std::ops::Range;

/// Programs of watches that are joined.
const PROGRAMS_MAX: usize = 12;
/// Clocks of whole seconds differ by less; a longer time without a sample is a gap, us.
const GAP_MIN_US: u64 = 2_000_000;

impl WatchRecord {
    /// When each second begins and ends, us since the watch began.
    #[must_use]
    pub fn spans_us(&self) -> Vec<Range<u64>> {
        let mut end = 0;
        let span = |(place, tick): (usize, crate::WatchTick)| {
            let gaps = self.gaps.iter().filter(|gap| gap.before == place);
            let begin = end + gaps.map(|gap| gap.elapsed_us).sum::<u64>();
            end = begin + tick.elapsed_us;
            begin..end
        };
        self.by_second().enumerate().map(span).collect()
    }

    /// Some of its seconds, by their places. What the kernel's events showed is of the whole, and left out of a part.
    #[must_use]
    pub fn part(&self, places: Range<usize>) -> Self {
        let places = places.start.min(self.seconds.len())..places.end.min(self.seconds.len());
        let ticks = |until: usize| self.seconds[..until].iter().map(|second| second.ticks as usize).sum::<usize>();
        let (begin, end) = (ticks(places.start).min(self.ticks.len()), ticks(places.end).min(self.ticks.len()));
        let throttles = self.throttles.iter().map(|throttle| WatchedThrottle {
            limit: throttle.limit.clone(),
            asked: throttle.asked.as_ref().map(|asked| within(asked, &places)),
        });
        let programs = self
            .programs
            .iter()
            .map(|program| WatchedProgram { seconds: within(&program.seconds, &places), ..program.clone() });
        let gaps = self.gaps.iter().filter(|gap| places.start < gap.before && gap.before < places.end);
        let is_whole = places.len() == self.seconds.len();
        Self {
            ticks: self.ticks[begin..end].to_vec(),
            seconds: self.seconds[places.clone()].to_vec(),
            gaps: gaps.map(|gap| WatchGap { before: gap.before - places.start, ..*gap }).collect(),
            throttles: throttles.collect(),
            programs: programs.collect(),
            queue: self.queue.clone(),
            swap_here: self.swap_here,
            subject: self.subject,
            hidden: self.hidden,
            cost: self.cost,
            events: self.events.clone().filter(|_| is_whole),
        }
    }

    /// Watches of one device that followed one another, each with when it began, us. Times between them are gaps.
    #[must_use]
    pub fn joined(parts: Vec<(u64, Self)>) -> Self {
        let mut all = Self::default();
        let mut end = parts.first().map_or(0, |(begun, _)| *begun);
        for (begun, part) in parts {
            let gap_us = begun.saturating_sub(end);
            if gap_us > GAP_MIN_US {
                all.gaps.push(WatchGap { before: all.seconds.len(), elapsed_us: gap_us });
                end = begun;
            }
            end += part.spans_us().last().map_or(0, |span| span.end);
            all.append(part);
        }
        all.keep_busiest();
        all
    }

    /// Adds what followed.
    fn append(&mut self, part: Self) {
        let (before, more) = (self.seconds.len(), part.by_second().count());
        self.gaps.extend(part.gaps.iter().map(|gap| WatchGap { before: gap.before + before, ..*gap }));
        let ticks = part.seconds[..more].iter().map(|second| second.ticks as usize).sum::<usize>();
        self.ticks.extend(&part.ticks[..ticks]);
        self.seconds.extend(part.seconds.into_iter().take(more));
        for throttle in part.throttles {
            let WatchedThrottle { limit, asked } = throttle;
            let place = self.throttles.iter().position(|own| own.limit == limit).unwrap_or_else(|| {
                self.throttles.push(WatchedThrottle { limit, asked: Some(Vec::new()) });
                self.throttles.len() - 1
            });
            let own = &mut self.throttles[place].asked;
            *own = own.take().zip(asked).map(|(own, more)| lengthened(own, before, more));
        }
        for (place, program) in part.programs.into_iter().enumerate() {
            self.append_program(program, part.subject == Some(place), before);
        }
        let end = before + more;
        self.throttles.iter_mut().filter_map(|of| of.asked.as_mut()).for_each(|asked| asked.resize(end, 0));
        self.programs.iter_mut().for_each(|of| of.seconds.resize(end, ProgramSecond::default()));
        self.queue = part.queue.or(self.queue.take());
        self.swap_here |= part.swap_here;
        let hidden = |of: &crate::HiddenProcesses| of.processes;
        self.hidden = part.hidden.into_iter().chain(self.hidden).max_by_key(hidden);
        self.cost = WatchCost {
            cpu_us: self.cost.cpu_us + part.cost.cpu_us,
            elapsed_us: self.cost.elapsed_us + part.cost.elapsed_us,
        };
    }

    fn append_program(&mut self, program: WatchedProgram, is_subject: bool, before: usize) {
        let is_own = |(place, own): &(usize, &WatchedProgram)| {
            if is_subject {
                self.subject == Some(*place)
            } else {
                self.subject != Some(*place) && own.name == program.name
            }
        };
        let Some((place, _)) = self.programs.iter().enumerate().find(is_own) else {
            if is_subject {
                self.subject = Some(self.programs.len());
            }
            let seconds = lengthened(Vec::new(), before, program.seconds);
            self.programs.push(WatchedProgram { seconds, ..program });
            return;
        };
        let own = &mut self.programs[place];
        own.processes = own.processes.max(program.processes);
        own.only_here = own.only_here.zip(program.only_here).map(|(a, b)| a && b);
        own.quota = own.quota.take().or(program.quota);
        own.memory = own.memory.take().or(program.memory);
        own.seconds = lengthened(std::mem::take(&mut own.seconds), before, program.seconds);
    }

    /// Leaves out programs that did least, and puts the others into their order.
    fn keep_busiest(&mut self) {
        let mut all: Vec<(bool, WatchedProgram)> = std::mem::take(&mut self.programs)
            .into_iter()
            .enumerate()
            .map(|(place, program)| (self.subject == Some(place), program))
            .collect();
        let total = |program: &WatchedProgram| {
            let all = program.seconds.iter().copied().fold(ProgramSecond::default(), ProgramSecond::joined);
            (all.storage_bytes(), all.asked_read_bytes + all.asked_write_bytes, all.cpu_us)
        };
        all.sort_by_cached_key(|(is_subject, program)| std::cmp::Reverse((*is_subject, total(program))));
        all.truncate(PROGRAMS_MAX);
        all.sort_by_cached_key(|(_, program)| std::cmp::Reverse(total(program)));
        self.subject = all.iter().position(|(is_subject, _)| *is_subject);
        self.programs = all.into_iter().map(|(_, program)| program).collect();
    }
}

/// Those at these places, as far as there are some.
fn within<T: Clone>(all: &[T], places: &Range<usize>) -> Vec<T> {
    all[places.start.min(all.len())..places.end.min(all.len())].to_vec()
}

/// What was seen until `before` seconds were over, and then more; nothing where nothing was seen.
fn lengthened<T: Clone + Default>(mut own: Vec<T>, before: usize, more: Vec<T>) -> Vec<T> {
    own.resize(before, T::default());
    own.extend(more);
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{WatchSecond, WatchTick};

    /// Seconds of one tick each, which read so many times; a program reads as much.
    fn watch(name: &str, reads: &[u64]) -> WatchRecord {
        let tick = |reads: &u64| WatchTick { elapsed_us: 1_000_000, reads: *reads, ..WatchTick::default() };
        let second = |reads: &u64| ProgramSecond { read_bytes: *reads, ..ProgramSecond::default() };
        WatchRecord {
            ticks: reads.iter().map(tick).collect(),
            seconds: vec![WatchSecond { ticks: 1, ..WatchSecond::default() }; reads.len()],
            programs: vec![WatchedProgram {
                name: name.into(),
                seconds: reads.iter().map(second).collect(),
                ..WatchedProgram::default()
            }],
            ..WatchRecord::default()
        }
    }

    fn reads(watch: &WatchRecord) -> Vec<u64> {
        watch.by_second().map(|tick| tick.reads).collect()
    }

    #[test]
    fn parts_joined_again_are_the_whole() {
        let whole = WatchRecord::joined(vec![(0, watch("db", &[1, 2, 3])), (3_000_000, watch("batch", &[40, 50]))]);
        assert_eq!((reads(&whole), whole.gaps.len()), (vec![1, 2, 3, 40, 50], 0));
        let names: Vec<&str> = whole.programs.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["batch", "db"], "the busiest first");
        assert!(whole.programs.iter().all(|program| program.seconds.len() == 5));
        for cut in 0..=5 {
            let parts = vec![(0, whole.part(0..cut)), (cut as u64 * 1_000_000, whole.part(cut..5))];
            let parts = parts.into_iter().filter(|(_, part)| !part.seconds.is_empty());
            assert_eq!(WatchRecord::joined(parts.collect()).part(0..5).programs, whole.programs, "cut at {cut}");
        }
    }

    #[test]
    fn a_time_without_samples_is_a_gap_that_steps_do_not_cross() {
        let whole = WatchRecord::joined(vec![(0, watch("db", &[1, 2, 3])), (63_000_000, watch("db", &[4, 5, 6, 7]))]);
        assert_eq!(whole.gaps, [WatchGap { before: 3, elapsed_us: 60_000_000 }]);
        assert_eq!(whole.spans_us()[3], 63_000_000..64_000_000);
        let coarse = whole.clone().in_steps(2_000_000);
        assert_eq!(reads(&coarse), [3, 3, 9, 13]);
        assert_eq!((coarse.gaps[0].before, coarse.spans_us()[2].clone()), (2, 63_000_000..65_000_000));
        assert_eq!(whole.part(2..5).gaps, [WatchGap { before: 1, elapsed_us: 60_000_000 }]);
        assert_eq!(reads(&whole.thinned(3)), [6, 22], "in twos and again");
    }

    #[test]
    fn one_that_is_coarse_already_stays_as_it_is() {
        let coarse = watch("db", &[1; 100]).in_steps(10_000_000);
        assert_eq!(coarse.seconds.len(), 10);
        assert_eq!(coarse.clone().in_steps(10_000_000), coarse);
        assert_eq!(coarse.clone().in_steps(1_000_000), coarse);
    }
}
