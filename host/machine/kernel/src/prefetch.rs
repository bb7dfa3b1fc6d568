//! Memory brought into the processor's caches ahead of use.

/// Bytes that a processor's caches fetch at once.
const LINE: usize = 64;

/// Asks for all of these bytes to be brought into the processor's caches, and does not wait for them. A program that asks for many lines
/// has them fetched side by side, and goes on meanwhile; the system's own copying, page by page, waits for each.
///
/// Where no instruction for that is known, one byte of each line is read.
pub fn prefetch(bytes: &[u8]) {
    prefetch_strided(bytes, LINE);
}

/// As [`prefetch`], of every `step` bytes the line that the first of them is in. The processor itself may fetch what lies next to them.
pub fn prefetch_strided(bytes: &[u8], step: usize) {
    let some = bytes.iter().step_by(step);
    if cfg!(target_arch = "x86_64") {
        some.for_each(prefetch_value);
    } else {
        std::hint::black_box(some.fold(0, |all, byte| all ^ byte));
    }
}

/// As [`prefetch`], of the line that a value begins in; where no instruction for that is known, nothing.
#[inline]
pub fn prefetch_value<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is part of SSE, which every x86-64 processor has. It may be given any address, and changes nothing that a
        // program sees.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
