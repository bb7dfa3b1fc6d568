//! Pages of the kernel's trace ring buffer, as `trace_pipe_raw` gives them (include/linux/ring_buffer.h, kernel/trace/ring_buffer.c).

/// Bytes of a page that are asked for; the kernel's may be larger where its memory pages are.
pub const PAGE_MAX: usize = 64 << 10;
/// The header: a time, and the length of the data.
const HEADER: usize = 16;
/// In the length: events are missing before this page.
const MISSED: u64 = 1 << 31;
/// In the length: their number stands after the data.
const MISSED_STORED: u64 = 1 << 30;
/// In the length: the length itself.
const LENGTH: u64 = (1 << 27) - 1;
/// Kinds of an entry beside data of so many words.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of a time difference.
const DELTA_BITS: u32 = 27;
/// An absolute time lacks its highest bits, which are those of the page's.
const STAMP_HIGH: u64 = 0xf8 << 56;

/// A page that makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a page of the kernel's trace buffer makes no sense at byte {0}")]
pub struct PageError(pub usize);

/// Gives each event of a page with its time in ns. Returns how many events the page says are missing before it; `None` in it: some,
/// and nobody counted.
///
/// # Errors
/// [`PageError`]: an entry reaches beyond the page.
pub fn events(page: &[u8], mut each: impl FnMut(u64, &[u8])) -> Result<Option<u64>, PageError> {
    let word = |at: usize| Some(u32::from_le_bytes(page.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| Some(u64::from_le_bytes(page.get(at..at + 8)?.try_into().ok()?));
    let (Some(begun), Some(written)) = (long(0), long(8)) else { return Err(PageError(0)) };
    let end = HEADER + (written & LENGTH) as usize;
    if end > page.len() {
        return Err(PageError(8));
    }
    let (mut at, mut time) = (HEADER, begun);
    while at < end {
        let head = word(at).ok_or(PageError(at))?;
        let (kind, delta) = (head & 0x1f, u64::from(head >> 5));
        let array = word(at + 4);
        match kind {
            PADDING if delta == 0 => break,
            PADDING => {
                time = time.wrapping_add(delta);
                at += 4 + array.ok_or(PageError(at))? as usize;
            }
            TIME_EXTEND => {
                let high = u64::from(array.ok_or(PageError(at))?);
                time = time.wrapping_add(delta + (high << DELTA_BITS));
                at += 8;
            }
            TIME_STAMP => {
                let high = u64::from(array.ok_or(PageError(at))?);
                time = (begun & STAMP_HIGH) | (delta + (high << DELTA_BITS));
                at += 8;
            }
            _ => {
                time = time.wrapping_add(delta);
                // Long data: its length stands first, and counts itself.
                let (from, length) = match kind {
                    0 => (at + 8, (array.ok_or(PageError(at))? as usize).checked_sub(4).ok_or(PageError(at))?),
                    words => (at + 4, words as usize * 4),
                };
                let data = page.get(from..from + length).filter(|_| from + length <= end).ok_or(PageError(at))?;
                each(time, data);
                at = (from + length).next_multiple_of(4);
            }
        }
    }
    Ok(match (written & MISSED > 0, written & MISSED_STORED > 0) {
        (false, _) => Some(0),
        (true, true) => long(end),
        (true, false) => None,
    })
}

#[cfg(test)]
pub(crate) mod made {
    /// A page with these events, each a difference of time and its data.
    pub(crate) fn page(begun: u64, events: &[(u64, Vec<u8>)]) -> Vec<u8> {
        let mut data: Vec<u8> = Vec::new();
        for (delta, bytes) in events {
            if *delta >= 1 << super::DELTA_BITS {
                let low = (delta & ((1 << super::DELTA_BITS) - 1)) as u32;
                data.extend((low << 5 | super::TIME_EXTEND).to_le_bytes());
                data.extend(((delta >> super::DELTA_BITS) as u32).to_le_bytes());
            }
            let delta = if *delta >= 1 << super::DELTA_BITS { 0 } else { *delta as u32 };
            assert!(bytes.len() % 4 == 0 && bytes.len() / 4 <= 28);
            data.extend((delta << 5 | (bytes.len() / 4) as u32).to_le_bytes());
            data.extend(bytes);
        }
        let mut page = begun.to_le_bytes().to_vec();
        page.extend((data.len() as u64).to_le_bytes());
        page.extend(data);
        page.resize(4_096, 0);
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Found = (Vec<(u64, usize)>, Result<Option<u64>, PageError>);

    fn all(page: &[u8]) -> Found {
        let mut found = Vec::new();
        let missed = events(page, |at, data| found.push((at, data.len())));
        (found, missed)
    }

    #[test]
    fn times_add_up_also_over_long_pauses() {
        let page = made::page(1_000, &[(0, vec![1; 8]), (7, vec![2; 12]), (1 << 40, vec![3; 4])]);
        let (found, missed) = all(&page);
        assert_eq!(found, [(1_000, 8), (1_007, 12), (1_007 + (1 << 40), 4)]);
        assert_eq!(missed, Ok(Some(0)));
    }

    #[test]
    fn missing_events_are_counted_where_the_kernel_counted_them() {
        let mut page = made::page(5, &[(0, vec![1; 8])]);
        let length = u64::from_le_bytes(page[8..16].try_into().unwrap());
        page[8..16].copy_from_slice(&(length | MISSED).to_le_bytes());
        assert_eq!(all(&page).1, Ok(None));
        page[8..16].copy_from_slice(&(length | MISSED | MISSED_STORED).to_le_bytes());
        let end = HEADER + length as usize;
        page[end..end + 8].copy_from_slice(&77_u64.to_le_bytes());
        assert_eq!(all(&page).1, Ok(Some(77)));
    }

    proptest! {
        #[test]
        fn no_page_makes_it_fall_over(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let _ = all(&bytes);
        }
    }
}
