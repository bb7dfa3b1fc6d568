//! Verbs that are Linux's own, and what the others need of the system: signals, the screen, sockets, a page for counters.

pub(crate) mod attach;
pub(crate) mod attached_frames;
pub(crate) mod crawl;
pub(crate) mod doctor;
pub(crate) mod emulate;
pub(crate) mod emulation_fields;
pub(crate) mod engine_words;
pub(crate) mod fault;
pub(crate) mod interruption;
pub(crate) mod library_run;
pub(crate) mod metrics;
pub(crate) mod quick;
pub(crate) mod record;
pub(crate) mod recordable;
mod refusals;
pub(crate) mod resumption;
pub(crate) mod run;
pub(crate) mod screen;
#[cfg(feature = "shelter")]
pub(crate) mod shelter;
#[cfg(any(test, not(feature = "shelter")))]
pub(crate) mod shelter_absent;
#[cfg(feature = "shelter")]
pub(crate) mod shelter_plan;
pub(crate) mod socket;
pub(crate) mod storage_replay;
pub(crate) mod tty;
pub(crate) mod verification;
pub(crate) mod watch;

#[cfg(feature = "shelter")]
pub(crate) use shelter as shelter_verb;
#[cfg(not(feature = "shelter"))]
pub(crate) use shelter_absent as shelter_verb;
