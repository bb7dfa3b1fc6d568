//! The bound on the bytes that a thread moves.

use loadline_units::Bytes;

/// A bound on the bytes from the beginning of the measurement on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransferBudget {
    left: u64,
    /// Bytes.
    in_flight: u64,
    /// The measurement has not begun.
    before: bool,
    /// There was no room for a request.
    spent: bool,
}

impl TransferBudget {
    pub(crate) const fn of(volume: Bytes) -> Self {
        Self { left: volume.get(), in_flight: 0, before: true, spent: false }
    }
    /// Whether there was no room for its last request.
    pub(crate) const fn is_spent(&self) -> bool {
        self.spent
    }
    /// When the measurement begins, requests in flight count.
    fn tell(&mut self, has_begun: bool) {
        if has_begun && std::mem::replace(&mut self.before, false) {
            self.left = self.left.saturating_sub(self.in_flight);
        }
    }
    /// Accepts a request; returns whether there is room for it.
    pub(crate) fn takes(&mut self, length: u64, has_begun: bool) -> bool {
        self.tell(has_begun);
        if has_begun {
            let Some(left) = self.left.checked_sub(length) else {
                self.spent = true;
                return false;
            };
            self.left = left;
        }
        self.in_flight += length;
        true
    }
    pub(crate) fn answered(&mut self, length: u64, has_begun: bool) {
        self.tell(has_begun);
        self.in_flight -= length;
    }
}
