//! The delivery of answers to the kernel, for files and block devices alike.

use crate::answer::{Answer, ReplyBody};
use crate::export::Export;
use crate::meter::Delivered;
use crate::service::Service;
use loadline_nbd::NbdError;

/// Gives answers to the kernel by `give`, and leaves `answers` empty. Requests of an earlier boot than the current one get errors. The
/// boot does not end meanwhile.
pub(super) fn deliver(
    export: &Export,
    service: &Service,
    boot: u64,
    answers: &mut Vec<Answer>,
    mut give: impl FnMut(&Answer),
) {
    let now = service.boot();
    for answer in answers.iter_mut() {
        if *now != boot {
            answer.body = ReplyBody::Error { error: NbdError::Io, read: false };
        }
        export.settle(answer);
        give(answer);
    }
    drop(now);
    export.meter.count(service.driver().clock.now(), answers.iter().map(Delivered::of));
    answers.clear();
}
