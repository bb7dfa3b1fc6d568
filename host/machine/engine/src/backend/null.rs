//! No device at all: every request is answered at once. Measures the tool.

use super::{Backend, Io};
use loadline_units::Duration;

/// Answers whatever was queued.
#[derive(Debug, Default)]
pub(crate) struct Null {
    queued: Vec<(u32, i32)>,
}

impl Backend for Null {
    #[inline]
    fn queue(&mut self, slot: u32, io: &Io) {
        self.queued.push((slot, io.length as i32));
    }
    #[inline]
    fn submit_and_wait(&mut self, wait: Option<Duration>) -> std::io::Result<()> {
        if let Some(wait) = wait
            && self.queued.is_empty()
        {
            std::thread::sleep(wait.into());
        }
        Ok(())
    }
    #[inline]
    fn reap(&mut self, mut each: impl FnMut(u32, i32)) {
        for &(slot, result) in &self.queued {
            each(slot, result);
        }
        self.queued.clear();
    }
}
