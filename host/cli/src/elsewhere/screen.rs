//! A screen of frames, and a socket for those who attach: neither is to be had.

use crate::frames::Wishes;
use crate::interruption::Interruption;
use anyhow::anyhow;
use loadline_analysis::LiveFrame;
use loadline_report::live::LiveState;
use std::sync::Arc;

/// A terminal that shows frames: none.
pub(crate) enum Screen {}

impl Screen {
    pub(crate) fn open(_: Interruption, _: Arc<Wishes>, _: LiveState) -> anyhow::Result<Self> {
        Err(anyhow!("frames are drawn on Linux alone"))
    }

    pub(crate) fn show(&self, _: LiveFrame) {
        match *self {}
    }

    pub(crate) fn close(&mut self) -> LiveState {
        match *self {}
    }
}

/// Where frames are handed out: nowhere.
pub(crate) enum LiveSocket {}

impl LiveSocket {
    pub(crate) fn listen(_: &LiveFrame) -> anyhow::Result<Self> {
        Err(anyhow!("nobody attaches but on Linux"))
    }

    pub(crate) fn send(&self, _: &str) {
        match *self {}
    }
}
