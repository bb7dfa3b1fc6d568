//! What clients may ask for by name.

use crate::answer::{Answer, AnswerPart, ReplyBody};
use crate::contents::Contents;
use crate::meter::{Delivered, Meter};
use loadline_emulation::Slicing;
use loadline_nbd::negotiation::ExportInfo;

/// A volume, or one disk of one.
#[derive(Debug)]
pub(crate) struct Export {
    pub(crate) info: ExportInfo,
    /// Its place among the exports, as the model counts them.
    pub(crate) number: u16,
    /// How its layout cuts requests.
    pub(crate) cut: Slicing,
    pub(crate) contents: Contents,
    pub(crate) meter: Meter,
}

impl Export {
    /// Settles a write or flush whose answer is about to leave. Called before the client can see the answer: so a flush covers what was
    /// answered before it, and a power cut may take the rest.
    pub(crate) fn settle(&self, answer: &Answer) {
        if !matches!(answer.body, ReplyBody::Error { .. }) {
            self.contents.settle(answer.settles);
        }
    }

    /// An answer has nobody to go to: what was done is there for others, who may flush it, and was done.
    pub(crate) fn keep(&self, answer: &Answer) {
        self.settle(answer);
        // Of a read that leaves in two parts the second one counts.
        if answer.part != AnswerPart::Early {
            self.meter.count_unseen(std::iter::once(Delivered::of(answer)));
        }
    }
}
