//! The bytes of a volume, laid over its disks as requests are.

use crate::send_buffer::SendBuffer;
use crate::store::{Fresh, PAGE, Page, Presence, Still, StoreError, StoredDisk};
use loadline_disk::Layout;
use loadline_nbd::NbdError;
use loadline_nbd::reply::{EXTENTS_MAX, Extent};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What one question about extents looks at, in pages; what lies behind is asked for again.
const LOOKS_MAX: u64 = 1 << 18;
/// Zeroes written at once.
const ZEROES: &[u8] = &[0; 64 << 10];

/// A volume's bytes, or those of one disk. Ranges lie within it.
#[derive(Debug)]
pub(crate) struct Contents {
    layout: Layout,
    disks: Vec<Arc<StoredDisk>>,
    /// Held while bytes go to the disks of the volume, shared by all writers; alone by the thread that fills a disk from another.
    writing: Arc<RwLock<()>>,
    order: WriteTickets,
}

/// The order of writes and answers of all disks of an emulation.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteTickets(Arc<AtomicU64>);

impl WriteTickets {
    /// The next number.
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::AcqRel)
    }
}

/// What an answer settles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settles {
    Nothing,
    /// The write with this ticket was answered.
    Write(u64),
    /// And is durable.
    Durable(u64),
    /// Writes that had been answered by then are durable.
    Flush(u64),
}

/// Whether a volume or disk can be read and written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContentsState {
    /// All of its disks are there, with everything.
    #[default]
    Present,
    /// Copies are missing, or are being filled.
    Degraded,
    /// A disk is not there, and no copy of it.
    Absent,
    /// A disk is there that missed writes: it waits for a current copy to be filled from.
    Waiting,
}

impl ContentsState {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Present, Self::Degraded, Self::Absent, Self::Waiting];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Degraded => "degraded",
            Self::Absent => "absent",
            Self::Waiting => "waiting",
        }
    }
}

/// A part of a range that follows on without a gap on one column.
struct LayoutRun {
    column: usize,
    /// On the column's disks.
    offset: u64,
    /// From the beginning of the range.
    from: u64,
    length: u64,
}

impl Contents {
    pub(crate) const fn new(
        layout: Layout,
        disks: Vec<Arc<StoredDisk>>,
        writing: Arc<RwLock<()>>,
        order: WriteTickets,
    ) -> Self {
        Self { layout, disks, writing, order }
    }

    fn runs(&self, offset: u64, length: u64) -> impl Iterator<Item = LayoutRun> {
        let layout = self.layout;
        let mut from = 0;
        std::iter::from_fn(move || {
            (from < length).then(|| {
                let place = layout.locate(offset + from);
                let run = LayoutRun {
                    column: place.column,
                    offset: place.offset,
                    from,
                    length: place.run.min(length - from),
                };
                from += run.length;
                run
            })
        })
    }

    /// What a range is on each column that it touches: one stretch without a gap, as layouts go round.
    fn stretches(&self, offset: u64, length: u64) -> impl Iterator<Item = (usize, Range<u64>)> {
        let round = match self.layout {
            Layout::Single | Layout::Mirror { .. } => length,
            Layout::Stripe { columns, interleave } | Layout::StripeOfMirrors { columns, interleave, .. } => {
                interleave.get().saturating_mul(u64::from(columns))
            }
        };
        // Each begins within the first round, and ends within the last one.
        let round = round.min(length);
        let mut stretches: SmallVec<[Option<Range<u64>>; 4]> = SmallVec::new();
        stretches.resize(self.disks.len() / self.layout.copies(), None);
        for run in self.runs(offset, round).chain(self.runs(offset + (length - round), round)) {
            let own = run.offset..run.offset + run.length;
            let stretch = stretches[run.column].get_or_insert_with(|| own.clone());
            *stretch = stretch.start.min(own.start)..stretch.end.max(own.end);
        }
        let there = |(column, stretch): (usize, Option<Range<u64>>)| stretch.map(|stretch| (column, stretch));
        stretches.into_iter().enumerate().filter_map(there)
    }

    /// The disks of a column, which hold the same.
    fn copies(&self, column: usize) -> &[Arc<StoredDisk>] {
        let copies = self.layout.copies();
        &self.disks[column * copies..(column + 1) * copies]
    }

    /// A disk of a column that has all its bytes.
    fn live(&self, column: usize) -> Result<&StoredDisk, NbdError> {
        let live = |disk: &&Arc<StoredDisk>| disk.presence() == Presence::Live;
        self.copies(column).iter().find(live).map(|disk| &**disk).ok_or(NbdError::Io)
    }

    /// The disks of a column that are written to; those that are not miss what is written.
    fn written(&self, column: usize) -> Result<impl Iterator<Item = &StoredDisk>, NbdError> {
        self.live(column)?;
        Ok(self.copies(column).iter().map(|disk| &**disk).filter(|disk| {
            let written = matches!(disk.presence(), Presence::Live | Presence::Filling);
            if !written {
                disk.set_stale(true);
            }
            written
        }))
    }

    /// How many of its disks are read, and whether each byte is on one of them.
    pub(crate) fn state(&self) -> ContentsState {
        let columns = self.disks.len() / self.layout.copies();
        if (0..columns).any(|column| self.live(column).is_err()) {
            let waits = |disk: &Arc<StoredDisk>| disk.presence() == Presence::Waiting;
            return if self.disks.iter().any(waits) { ContentsState::Waiting } else { ContentsState::Absent };
        }
        let live = self.disks.iter().all(|disk| disk.presence() == Presence::Live);
        if live { ContentsState::Present } else { ContentsState::Degraded }
    }

    /// Names a write, before its first byte is kept.
    pub(crate) fn ticket(&self) -> u64 {
        self.order.next()
    }

    /// What the answer to a flush that comes now will settle. It fails where a write would.
    pub(crate) fn flush(&self) -> Result<Settles, NbdError> {
        match self.state() {
            ContentsState::Present | ContentsState::Degraded => Ok(Settles::Flush(self.order.next())),
            ContentsState::Absent | ContentsState::Waiting => Err(NbdError::Io),
        }
    }

    /// An answer without error is about to leave.
    pub(crate) fn settle(&self, settles: Settles) {
        match settles {
            Settles::Nothing => {}
            Settles::Write(ticket) => {
                let order = self.order.next();
                self.disks.iter().for_each(|disk| disk.answered(ticket, order));
            }
            Settles::Durable(ticket) => self.disks.iter().for_each(|disk| disk.durable(ticket)),
            Settles::Flush(order) => self.disks.iter().for_each(|disk| disk.flushed(order)),
        }
    }

    /// Has the bytes of these ranges fetched: each is read soon.
    pub(crate) fn fetch(&self, ranges: impl Iterator<Item = (u64, u64)>) {
        let Some(still) = self.still() else { return };
        for (offset, length) in ranges {
            for run in self.runs(offset, length) {
                still.columns[run.column].fetch(run.offset, run.length);
            }
        }
    }

    /// Has the places fetched where the pages of these ranges are noted: each is written soon, and begins there.
    pub(crate) fn fetch_places(&self, offsets: impl Iterator<Item = u64>) {
        let mut offsets = offsets.peekable();
        // Mostly nothing is ahead, and then nobody who writes is kept waiting for it.
        if offsets.peek().is_none() {
            return;
        }
        let Some(still) = self.still() else { return };
        for offset in offsets {
            let place = self.layout.locate(offset);
            still.columns[place.column].fetch_place(place.offset);
        }
    }

    /// Has all bytes stay as they are; `None`: some are not in memory, or not there.
    pub(crate) fn still(&self) -> Option<StillContents<'_>> {
        let columns = 0..self.disks.len() / self.layout.copies();
        let columns = columns.map(|column| self.live(column).ok()?.store.still()).collect::<Option<_>>()?;
        Some(StillContents { contents: self, columns })
    }

    /// Appends the bytes of a range to `buffer`.
    pub(crate) fn read(&self, offset: u64, length: u64, buffer: &mut SendBuffer) -> Result<(), NbdError> {
        for run in self.runs(offset, length) {
            self.live(run.column)?.read(run.offset, run.length, buffer).map_err(|error| error.told())?;
        }
        Ok(())
    }

    /// Keeps bytes of the write with this ticket, on every copy.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8], ticket: u64) -> Result<(), NbdError> {
        let _writing = self.writing.read();
        for run in self.runs(offset, bytes.len() as u64) {
            let now = &bytes[run.from as usize..(run.from + run.length) as usize];
            for disk in self.written(run.column)? {
                disk.write(run.offset, Fresh::Bytes(now), ticket).map_err(|error| error.told())?;
            }
        }
        Ok(())
    }

    /// As [`Contents::write`], of whole pages, from the beginning of one on. They are left with any bytes.
    pub(crate) fn place(&self, offset: u64, pages: &mut [Page], ticket: u64) -> Result<(), NbdError> {
        let (page, length) = (PAGE as u64, (pages.len() * PAGE) as u64);
        let even = |run: LayoutRun| [run.offset, run.from, run.length].iter().all(|number| number.is_multiple_of(page));
        if !self.runs(offset, length).all(even) {
            let mut places = (offset..).step_by(PAGE).zip(pages);
            return places.try_for_each(|(at, page)| self.write(at, page.bytes(), ticket));
        }
        let _writing = self.writing.read();
        for run in self.runs(offset, length) {
            let now = &mut pages[run.from as usize / PAGE..(run.from + run.length) as usize / PAGE];
            let mut disks = self.written(run.column)?.peekable();
            while let Some(disk) = disks.next() {
                let last = disks.peek().is_none();
                let kept = if last {
                    disk.write(run.offset, Fresh::Pages(now), ticket)
                } else {
                    let mut places = (run.offset..).step_by(PAGE).zip(&*now);
                    places.try_for_each(|(at, page)| disk.write(at, Fresh::Bytes(page.bytes()), ticket))
                };
                kept.map_err(|error| error.told())?;
            }
        }
        Ok(())
    }

    /// Makes a range read as zeroes; its space is given back if `hole`, else taken.
    pub(crate) fn zero(&self, offset: u64, length: u64, hole: bool, ticket: u64) -> Result<(), NbdError> {
        if hole {
            let _writing = self.writing.read();
            for (column, range) in self.stretches(offset, length) {
                for disk in self.written(column)? {
                    disk.clear(range.start, range.end - range.start).map_err(|error| error.told())?;
                }
            }
            return Ok(());
        }
        let mut at = 0;
        while at < length {
            let now = (length - at).min(ZEROES.len() as u64);
            self.write(offset + at, &ZEROES[..now as usize], ticket)?;
            at += now;
        }
        Ok(())
    }

    /// What is data and what is hole from `offset` on; may end early, is never empty. With `one`, the first run only.
    pub(crate) fn extents(&self, offset: u64, length: u64, one: bool) -> Vec<Extent> {
        let mut extents: Vec<Extent> = Vec::new();
        let mut looks: u64 = 0;
        'runs: for run in self.runs(offset, length) {
            let mut at = 0;
            while at < run.length {
                if looks >= LOOKS_MAX {
                    break 'runs;
                }
                let (at_disk, left) = (run.offset + at, run.length - at);
                // Of a disk that is not there nothing is known but that reading it fails.
                let unknown = Extent { length: left, hole: false };
                looks += 1;
                let found = self.live(run.column).map_or(unknown, |disk| disk.extent(at_disk, left, &mut looks));
                let full = extents.len() == if one { 1 } else { EXTENTS_MAX };
                match extents.last_mut() {
                    Some(last) if last.hole == found.hole => last.length += found.length,
                    _ if full => break 'runs,
                    _ => extents.push(found),
                }
                at += found.length;
            }
        }
        extents
    }
}

/// Contents that stay as they are for as long as this lives: who writes waits.
pub(crate) struct StillContents<'a> {
    contents: &'a Contents,
    columns: SmallVec<[Still<'a>; 4]>,
}

impl StillContents<'_> {
    /// Calls `each` with the bytes of a range, where they lie.
    pub(crate) fn bytes<'s>(&'s self, offset: u64, length: u64, each: &mut impl FnMut(&'s [u8])) {
        for run in self.contents.runs(offset, length) {
            self.columns[run.column].bytes(run.offset, run.length, each);
        }
    }
}

/// Bytes copied at once from one disk to another; who writes waits as long.
const COPY: u64 = 1 << 20;
/// Bytes looked at for holes at once.
const LOOK: u64 = 1 << 36;

/// Fills a disk that missed writes from `copy` while others write. Both have the same then, and the same of it is durable. Where
/// that fails the disk waits for the next time.
pub(crate) fn fill(disk: &StoredDisk, copy: &StoredDisk, size: u64, writing: &RwLock<()>) -> Result<(), StoreError> {
    let filled = fill_all(disk, copy, size, writing);
    let _alone = writing.write();
    if filled.is_ok() {
        copy.settle();
        disk.settle();
        disk.set_stale(false);
        disk.set_presence(Presence::Live);
    } else {
        disk.set_presence(Presence::Waiting);
    }
    filled
}

fn fill_all(disk: &StoredDisk, copy: &StoredDisk, size: u64, writing: &RwLock<()>) -> Result<(), StoreError> {
    {
        let _alone = writing.write();
        disk.wipe()?;
        disk.set_presence(Presence::Filling);
    }
    let mut at = 0;
    while at < size {
        let _alone = writing.write();
        let extent = copy.extent(at, (size - at).min(LOOK), &mut 0);
        let length = if extent.hole { extent.length } else { extent.length.min(COPY) };
        if !extent.hole {
            disk.copy(copy, at, length)?;
        }
        at += length;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Budget, Keeping, MemoryStore, Store};
    use loadline_units::Bytes;
    use proptest::prelude::*;

    const SIZE: usize = 1 << 20;

    fn disks(count: usize) -> Vec<Arc<StoredDisk>> {
        let budget = Arc::new(Budget::new(1 << 30));
        let store = || Store::Memory(MemoryStore::new(Arc::clone(&budget)));
        (0..count).map(|_| Arc::new(StoredDisk::new(store(), Keeping { pages_max: 64, lies: false }))).collect()
    }

    fn laid(layout: Layout, disks: Vec<Arc<StoredDisk>>) -> Contents {
        Contents::new(layout, disks, Arc::default(), WriteTickets::default())
    }

    fn all(contents: &Contents, offset: u64, length: u64) -> Vec<u8> {
        let mut buffer = SendBuffer::default();
        contents.read(offset, length, &mut buffer).unwrap();
        buffer.to_vec()
    }

    #[derive(Debug, Clone)]
    enum ContentsAction {
        Write(usize, usize, u8),
        Place(usize, usize, u8),
        Zero(usize, usize, bool),
    }

    fn step() -> impl Strategy<Value = ContentsAction> {
        let range = (0..SIZE / 512).prop_flat_map(|start| (Just(start * 512), 1..=(SIZE / 512 - start).min(300)));
        prop_oneof![
            (range.clone(), 1u8..).prop_map(|((start, count), byte)| ContentsAction::Write(start, count * 512, byte)),
            (0..SIZE / PAGE, 1usize..70, 1u8..)
                .prop_map(|(start, count, byte)| ContentsAction::Place(start, count, byte)),
            (range, any::<bool>()).prop_map(|((start, count), hole)| ContentsAction::Zero(start, count * 512, hole)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_layout_gives_back_what_it_was_given(
            columns in 1u32..5, copies in 1u32..3, interleave in 1u64..40, steps in prop::collection::vec(step(), 1..12),
        ) {
            let layout = Layout::StripeOfMirrors { columns, copies, interleave: Bytes::new(interleave * 512) };
            let disks = disks(layout.disks());
            let contents = laid(layout, disks.clone());
            let mut expected = vec![0; SIZE];
            for step in steps {
                match step {
                    ContentsAction::Write(start, length, byte) => {
                        contents.write(start as u64, &vec![byte; length], contents.ticket()).unwrap();
                        expected[start..start + length].fill(byte);
                    }
                    ContentsAction::Place(start, count, byte) => {
                        let count = count.min(SIZE / PAGE - start);
                        let mut pages: Vec<Page> = (0..count).map(|_| Page::new().unwrap()).collect();
                        for page in &mut pages {
                            page.bytes_mut().fill(byte);
                        }
                        contents.place((start * PAGE) as u64, &mut pages, contents.ticket()).unwrap();
                        // What is left in them is nobody's.
                        for page in &mut pages {
                            page.bytes_mut().fill(0xee);
                        }
                        expected[start * PAGE..(start + count) * PAGE].fill(byte);
                    }
                    ContentsAction::Zero(start, length, hole) => {
                        contents.zero(start as u64, length as u64, hole, contents.ticket()).unwrap();
                        expected[start..start + length].fill(0);
                    }
                }
            }
            prop_assert!(all(&contents, 0, SIZE as u64) == expected);
            prop_assert!(all(&contents, 4_608, 1_024) == expected[4_608..5_632]);
            let mut in_place = Vec::new();
            contents.still().unwrap().bytes(512, SIZE as u64 - 1_024, &mut |bytes| in_place.extend_from_slice(bytes));
            prop_assert!(in_place == expected[512..SIZE - 512]);
            // Each disk has its bytes where the layout puts them, on every copy.
            for at in (0..SIZE).step_by(512) {
                let place = layout.locate(at as u64);
                for copy in 0..copies as usize {
                    let disk = laid(Layout::Single, vec![Arc::clone(&disks[place.column * copies as usize + copy])]);
                    prop_assert!(all(&disk, place.offset, 512) == expected[at..at + 512]);
                }
            }
            // Holes read as zeroes, and extents leave no gap.
            let mut at = 0;
            while at < SIZE {
                for extent in contents.extents(at as u64, (SIZE - at) as u64, false) {
                    let end = at + extent.length as usize;
                    prop_assert!(extent.length > 0 && end <= SIZE);
                    prop_assert!(!extent.hole || expected[at..end].iter().all(|byte| *byte == 0));
                    at = end;
                }
            }
            prop_assert_eq!(at, SIZE);
        }
    }

    #[test]
    fn one_extent_is_the_first_of_all() {
        let contents = laid(Layout::Stripe { columns: 2, interleave: Bytes::kib(64) }, disks(2));
        contents.write(128 << 10, &vec![1; 64 << 10], 1).unwrap();
        let all = contents.extents(0, 1 << 20, false);
        let expected = [(128, true), (64, false), (832, true)].map(|(kib, hole)| Extent { length: kib << 10, hole });
        assert_eq!(all, expected);
        assert_eq!(contents.extents(0, 1 << 20, true), expected[..1]);
    }

    #[test]
    fn a_trim_of_a_huge_striped_volume_is_one_of_each_disk() {
        let interleave = 5 * 512;
        let layout = Layout::StripeOfMirrors { columns: 3, copies: 2, interleave: Bytes::new(interleave) };
        let contents = laid(layout, disks(6));
        let (from, to) = (7 * interleave + 512, (1 << 50) + 1_024);
        let written = [from - 4_096, from + 100 * interleave, 1 << 49, to - 4_096];
        for at in written {
            contents.write(at, &[1; 8_192], contents.ticket()).unwrap();
        }
        assert_eq!(contents.stretches(from, to - from).count(), 3);
        let of_all: u64 = contents.stretches(from, to - from).map(|(_, range)| range.end - range.start).sum();
        assert_eq!(of_all, to - from);
        contents.zero(from, to - from, true, 0).unwrap();
        for at in written {
            let expected: Vec<u8> = (at..at + 8_192).map(|at| u8::from(!(from..to).contains(&at))).collect();
            assert!(all(&contents, at, 8_192) == expected, "{at}");
        }
    }

    #[test]
    fn an_answer_has_so_many_extents_at_most_and_the_next_one_goes_on_there() {
        let contents = laid(Layout::Single, disks(1));
        let page = PAGE as u64;
        let count = 2 * EXTENTS_MAX as u64;
        for number in (0..count).step_by(2) {
            contents.write(number * page, &[1; PAGE], contents.ticket()).unwrap();
        }
        let first = contents.extents(0, 64 << 40, false);
        assert_eq!(first.len(), EXTENTS_MAX);
        assert!(first.iter().all(|extent| extent.length == page));
        let rest = contents.extents(EXTENTS_MAX as u64 * page, 64 << 40, false);
        assert_eq!(rest.len(), EXTENTS_MAX);
        let all: u64 = first.iter().chain(&rest).map(|extent| extent.length).sum();
        assert_eq!((rest.last().unwrap().hole, all), (true, (EXTENTS_MAX as u64 * page) + (64 << 40)));
    }
}
