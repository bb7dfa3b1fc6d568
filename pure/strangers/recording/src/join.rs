//! Events joined into requests: when each arrived, went to the device, and was answered.
//!
//! A request of the device is made of the bios that lie in its range: neighbours are merged, and what is too long is cut. It arrived
//! with the first of them. A completion belongs to the request that was issued at its sector, in their order; one of a part shortens
//! the rest. What cannot be joined, at both ends of a recording or where events were lost, is counted and not guessed.

use crate::event::{BlockEvent, Happening};
use loadline_block::{ErrorKind, Operation};
use loadline_emulation::RecordedRequest;
use loadline_units::{Instant, SECTOR};
use std::collections::{BTreeMap, VecDeque};

/// Requests that wait for their events at most: what is older is given up.
const WAITING_MAX: usize = 1 << 20;

/// Which events a device raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stacking {
    /// Bios become requests, which are issued and completed.
    Requests,
    /// Bios are answered as they are (device mapper, RAID, zram): nothing is issued.
    Bios,
}

/// What a join has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JoinCounts {
    /// Requests that are whole.
    pub requests: u64,
    /// Requests that were completed and never seen issued.
    pub without_issue: u64,
    /// Requests that were issued and never seen to arrive: their arrival is taken for their issue.
    pub without_arrival: u64,
    /// Bios of which nothing more was seen.
    pub bios_left: u64,
    /// Requests that were issued and not seen completed.
    pub issued_left: u64,
    /// Flushes that were asked for and answered: the device's own, of which each serves all that wait, are requests beside them.
    pub flushes_answered: u64,
}

/// A bio that waits for its request.
#[derive(Debug, Clone, Copy)]
struct Bio {
    end: u64,
    arrived_ns: u64,
    pid: u32,
}

/// A request at the device.
#[derive(Debug, Clone, Copy)]
struct Issued {
    sector: u64,
    sectors: u64,
    /// Still to be answered.
    left: u64,
    arrived_ns: u64,
    sent_ns: u64,
    durable: bool,
    pid: u32,
}

/// Joins events, which come in the order of time.
#[derive(Debug)]
pub struct Join {
    stacking: Stacking,
    /// The time that counts as the beginning.
    begun_ns: u64,
    /// Sectors of the recorded device in its disk.
    range: (u64, u64),
    bios: [BTreeMap<u64, VecDeque<Bio>>; 4],
    bios_waiting: usize,
    sent: [BTreeMap<u64, VecDeque<Issued>>; 4],
    sent_waiting: usize,
    /// Threads by number, in the order in which they asked.
    clients: BTreeMap<u32, u32>,
    /// The same by number.
    threads: Vec<u32>,
    counts: JoinCounts,
}

impl Join {
    /// Of a device whose sectors are `range` of its disk.
    #[must_use]
    pub fn new(stacking: Stacking, begun_ns: u64, range: (u64, u64)) -> Self {
        Self {
            stacking,
            begun_ns,
            range,
            bios: Default::default(),
            bios_waiting: 0,
            sent: Default::default(),
            sent_waiting: 0,
            clients: BTreeMap::new(),
            threads: Vec::new(),
            counts: JoinCounts::default(),
        }
    }

    /// Takes an event in. Returns the request that it completes.
    pub fn push(&mut self, event: &BlockEvent) -> Option<RecordedRequest> {
        let is_flush = event.sectors == 0;
        let inside = event.sector >= self.range.0 && event.sector + event.sectors <= self.range.1;
        if !is_flush && !inside {
            return None;
        }
        match (event.what, self.stacking) {
            (Happening::Queued, _) => {
                self.queue(event);
                None
            }
            (Happening::Issued, _) => {
                self.issue(event);
                None
            }
            (Happening::Requeued, _) => {
                self.requeue(event);
                None
            }
            (Happening::Completed, Stacking::Requests) => self.complete(event),
            (Happening::Completed, Stacking::Bios) => self.complete_bio(event),
        }
    }

    fn queue(&mut self, event: &BlockEvent) {
        if self.bios_waiting >= WAITING_MAX {
            return;
        }
        let kind = kind(event);
        let bio = Bio { end: event.sector + event.sectors, arrived_ns: event.at_ns, pid: event.pid };
        self.bios[kind].entry(event.sector).or_default().push_back(bio);
        self.bios_waiting += 1;
    }

    /// Takes the bios that begin in a range, or reach into it: the first to arrive, and how many they were.
    fn take_bios(&mut self, kind: usize, sector: u64, end: u64) -> Option<Bio> {
        let bios = &mut self.bios[kind];
        let mut first: Option<Bio> = None;
        let earlier = |first: &mut Option<Bio>, bio: Bio| {
            if first.is_none_or(|known| bio.arrived_ns < known.arrived_ns) {
                *first = Some(bio);
            }
        };
        let mut from = sector;
        while from < end
            && let Some((&start, _)) = bios.range(from..end).next()
        {
            let queue = bios.get_mut(&start).expect("it was found");
            let bio = queue.pop_front();
            if queue.is_empty() {
                bios.remove(&start);
            }
            let Some(bio) = bio else { continue };
            earlier(&mut first, bio);
            // Of one that is cut, the rest begins where this request ends. Bios of the same range each have a request of their own.
            if bio.end > end {
                bios.entry(end).or_default().push_front(bio);
            } else {
                self.bios_waiting -= 1;
            }
            from = bio.end.max(start + 1);
        }
        first
    }

    fn issue(&mut self, event: &BlockEvent) {
        if self.sent_waiting >= WAITING_MAX {
            return;
        }
        let kind = kind(event);
        let bio = if event.sectors == 0 {
            self.take_flushes(kind)
        } else {
            self.take_bios(kind, event.sector, event.sector + event.sectors)
        };
        self.counts.without_arrival += u64::from(bio.is_none());
        let bio = bio.unwrap_or(Bio { end: 0, arrived_ns: event.at_ns, pid: event.pid });
        self.sent[kind].entry(place(event)).or_default().push_back(Issued {
            sector: event.sector,
            sectors: event.sectors,
            left: event.sectors,
            arrived_ns: bio.arrived_ns,
            sent_ns: event.at_ns,
            durable: event.durable,
            pid: bio.pid,
        });
        self.sent_waiting += 1;
    }

    /// One flush of the device serves all that wait.
    fn take_flushes(&mut self, kind: usize) -> Option<Bio> {
        let all = std::mem::take(&mut self.bios[kind]);
        let mut waiting: Vec<Bio> = all.into_values().flatten().collect();
        self.bios_waiting -= waiting.len();
        waiting.sort_by_key(|bio| bio.arrived_ns);
        waiting.first().copied()
    }

    fn requeue(&mut self, event: &BlockEvent) {
        let kind = kind(event);
        let Some(queue) = self.sent[kind].get_mut(&event.sector) else { return };
        let Some(issued) = queue.pop_back() else { return };
        if queue.is_empty() {
            self.sent[kind].remove(&event.sector);
        }
        self.sent_waiting -= 1;
        let bio = Bio { end: issued.sector + issued.sectors, arrived_ns: issued.arrived_ns, pid: issued.pid };
        self.bios[kind].entry(event.sector).or_default().push_front(bio);
        self.bios_waiting += 1;
    }

    fn complete(&mut self, event: &BlockEvent) -> Option<RecordedRequest> {
        let kind = kind(event);
        if event.sectors == 0 && event.operation != Operation::Flush {
            // What the flush served ends after it: what asked for nothing else begins at 0, what had data behind it.
            self.counts.flushes_answered += u64::from(event.sector == 0);
            return None;
        }
        let place = place(event);
        let Some(queue) = self.sent[kind].get_mut(&place) else {
            self.counts.without_issue += 1;
            return None;
        };
        let issued = queue.pop_front()?;
        if queue.is_empty() {
            self.sent[kind].remove(&place);
        }
        if event.sectors < issued.left && !event.failed {
            let rest = Issued { left: issued.left - event.sectors, ..issued };
            self.sent[kind].entry(event.sector + event.sectors).or_default().push_front(rest);
            return None;
        }
        self.sent_waiting -= 1;
        self.counts.requests += 1;
        Some(self.request(event, issued))
    }

    fn complete_bio(&mut self, event: &BlockEvent) -> Option<RecordedRequest> {
        let kind = kind(event);
        let (sector, end) = (event.sector, event.sector + event.sectors);
        let Some(bio) = self.take_bios(kind, sector, end) else {
            self.counts.without_issue += 1;
            return None;
        };
        self.counts.requests += 1;
        let issued = Issued {
            sector,
            sectors: event.sectors,
            left: 0,
            arrived_ns: bio.arrived_ns,
            sent_ns: bio.arrived_ns,
            durable: event.durable,
            pid: bio.pid,
        };
        Some(self.request(event, issued))
    }

    fn request(&mut self, event: &BlockEvent, issued: Issued) -> RecordedRequest {
        let next = u32::try_from(self.clients.len()).unwrap_or(u32::MAX);
        let threads = &mut self.threads;
        let client = *self.clients.entry(issued.pid).or_insert_with(|| {
            threads.push(issued.pid);
            next
        });
        let at = |ns: u64| Instant::from_ns(ns.saturating_sub(self.begun_ns));
        let is_flush = issued.sectors == 0;
        RecordedRequest {
            arrived_at: at(issued.arrived_ns),
            issued_at: at(issued.sent_ns),
            completed_at: at(event.at_ns),
            error: event.failed.then_some(ErrorKind::Io),
            operation: if is_flush { Operation::Flush } else { event.operation },
            durable: issued.durable && event.operation == Operation::Write,
            offset: if is_flush { 0 } else { (issued.sector - self.range.0) * SECTOR.get() },
            length: issued.sectors * SECTOR.get(),
            export: 0,
            client,
        }
    }

    /// The threads that asked, by their numbers in requests.
    #[must_use]
    pub fn threads(&self) -> &[u32] {
        &self.threads
    }

    /// How many were joined, and what was not so far.
    #[must_use]
    pub fn counts(&self) -> JoinCounts {
        JoinCounts { bios_left: self.bios_waiting as u64, issued_left: self.sent_waiting as u64, ..self.counts }
    }
}

/// Flushes have no place; kernels write 0 or the highest number.
const fn place(event: &BlockEvent) -> u64 {
    if event.sectors == 0 { 0 } else { event.sector }
}

/// What asks for no range is a flush, whatever letters it has.
fn kind(event: &BlockEvent) -> usize {
    let operation = if event.sectors == 0 { Operation::Flush } else { event.operation };
    operation.index()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at_ns: u64, what: Happening, sector: u64, sectors: u64, operation: Operation) -> BlockEvent {
        BlockEvent { at_ns, what, device: 1, sector, sectors, operation, durable: false, failed: false, pid: 7 }
    }

    fn joined(stacking: Stacking, events: &[BlockEvent]) -> (Vec<RecordedRequest>, JoinCounts) {
        let mut join = Join::new(stacking, 0, (0, 1 << 40));
        let found = events.iter().filter_map(|event| join.push(event)).collect();
        (found, join.counts())
    }

    fn times(request: &RecordedRequest) -> (u64, u64, u64) {
        (request.arrived_at.as_ns(), request.issued_at.as_ns(), request.completed_at.as_ns())
    }

    use Happening::{Completed, Issued as Sent, Queued, Requeued};
    use Operation::{Flush, Read, Write};

    #[test]
    fn a_request_has_three_times_and_its_place() {
        let (found, counts) = joined(
            Stacking::Requests,
            &[event(10, Queued, 8, 8, Read), event(12, Sent, 8, 8, Read), event(30, Completed, 8, 8, Read)],
        );
        assert_eq!(times(&found[0]), (10, 12, 30));
        assert_eq!((found[0].offset, found[0].length, found[0].client), (4_096, 4_096, 0));
        assert_eq!(counts, JoinCounts { requests: 1, ..JoinCounts::default() });
    }

    #[test]
    fn merged_bios_are_one_request_that_came_with_the_first() {
        let (found, counts) = joined(
            Stacking::Requests,
            &[
                event(10, Queued, 16, 8, Write),
                event(11, Queued, 8, 8, Write),
                event(20, Sent, 8, 16, Write),
                event(30, Completed, 8, 16, Write),
            ],
        );
        assert_eq!((times(&found[0]), found[0].length), ((10, 20, 30), 8_192));
        assert_eq!((counts.bios_left, counts.without_arrival), (0, 0));
    }

    #[test]
    fn a_bio_that_is_cut_becomes_several_requests_of_its_arrival() {
        let (found, counts) = joined(
            Stacking::Requests,
            &[
                event(10, Queued, 0, 24, Read),
                event(11, Sent, 0, 16, Read),
                event(12, Sent, 16, 8, Read),
                event(20, Completed, 16, 8, Read),
                event(21, Completed, 0, 16, Read),
            ],
        );
        assert_eq!(found.iter().map(times).collect::<Vec<_>>(), [(10, 12, 20), (10, 11, 21)]);
        assert_eq!((counts.bios_left, counts.without_arrival), (0, 0));
    }

    #[test]
    fn a_request_answered_in_parts_ends_with_the_last() {
        let (found, _) = joined(
            Stacking::Requests,
            &[
                event(10, Queued, 0, 16, Read),
                event(11, Sent, 0, 16, Read),
                event(20, Completed, 0, 8, Read),
                event(25, Completed, 8, 8, Read),
            ],
        );
        assert_eq!((found.len(), times(&found[0]), found[0].offset, found[0].length), (1, (10, 11, 25), 0, 8_192));
    }

    #[test]
    fn requests_of_one_place_are_answered_in_their_order() {
        let (found, counts) = joined(
            Stacking::Requests,
            &[
                event(10, Queued, 0, 8, Read),
                event(11, Queued, 0, 8, Read),
                event(12, Sent, 0, 8, Read),
                event(13, Sent, 0, 8, Read),
                event(20, Completed, 0, 8, Read),
                event(21, Completed, 0, 8, Read),
            ],
        );
        assert_eq!(found.iter().map(times).collect::<Vec<_>>(), [(10, 12, 20), (11, 13, 21)]);
        assert_eq!(counts.bios_left, 0);
    }

    #[test]
    fn flushes_that_wait_together_are_one_and_end_twice() {
        let (found, counts) = joined(
            Stacking::Requests,
            &[
                event(10, Queued, 0, 0, Flush),
                event(11, Queued, 0, 0, Flush),
                event(12, Sent, 0, 0, Flush),
                event(20, Completed, u64::MAX, 0, Flush),
                event(21, Completed, 0, 0, Write),
                event(21, Completed, 0, 0, Write),
                event(22, Completed, 72, 0, Write),
            ],
        );
        assert_eq!((found.len(), times(&found[0]), found[0].operation), (1, (10, 12, 20), Flush));
        assert_eq!((counts.without_issue, counts.bios_left, counts.flushes_answered), (0, 0, 2));
    }

    #[test]
    fn a_request_that_went_back_is_issued_anew_and_keeps_its_arrival() {
        let (found, _) = joined(
            Stacking::Requests,
            &[
                event(10, Queued, 0, 8, Read),
                event(11, Sent, 0, 8, Read),
                event(12, Requeued, 0, 8, Read),
                event(15, Sent, 0, 8, Read),
                event(20, Completed, 0, 8, Read),
            ],
        );
        assert_eq!(times(&found[0]), (10, 15, 20));
    }

    #[test]
    fn what_is_not_whole_is_counted() {
        let (found, counts) = joined(
            Stacking::Requests,
            &[
                event(5, Completed, 99, 8, Read),
                event(10, Sent, 0, 8, Read),
                event(20, Completed, 0, 8, Read),
                event(21, Queued, 64, 8, Write),
                event(22, Sent, 32, 8, Read),
            ],
        );
        assert_eq!(times(&found[0]), (10, 10, 20));
        let expected = JoinCounts {
            requests: 1,
            without_issue: 1,
            without_arrival: 2,
            bios_left: 1,
            issued_left: 1,
            flushes_answered: 0,
        };
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_device_without_requests_answers_bios() {
        let (found, _) = joined(Stacking::Bios, &[event(10, Queued, 8, 8, Write), event(20, Completed, 8, 8, Write)]);
        assert_eq!(times(&found[0]), (10, 10, 20));
    }

    #[test]
    fn a_partition_has_its_own_places_and_nobody_elses_requests() {
        let mut join = Join::new(Stacking::Requests, 0, (2_048, 4_096));
        let all = [
            event(1, Sent, 0, 8, Read),
            event(2, Completed, 0, 8, Read),
            event(3, Queued, 2_056, 8, Read),
            event(4, Sent, 2_056, 8, Read),
            event(5, Completed, 2_056, 8, Read),
        ];
        let found: Vec<RecordedRequest> = all.iter().filter_map(|event| join.push(event)).collect();
        assert_eq!((found.len(), found[0].offset), (1, 4_096));
        assert_eq!(join.counts().without_issue, 0);
    }
}
