//! What is known of this machine by any system.

use loadline_record::HostFacts;
use std::num::NonZero;

/// The machine that runs the tool, as far as its environment tells.
pub(crate) fn host_facts() -> HostFacts {
    let named = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    HostFacts {
        hostname: named("COMPUTERNAME").or_else(|| named("HOSTNAME")),
        os: Some(std::env::consts::OS.to_owned()),
        cpus: std::thread::available_parallelism().ok().and_then(|cpus| u32::try_from(NonZero::get(cpus)).ok()),
        ..HostFacts::default()
    }
}

/// Bytes of a page of memory: not known.
pub(crate) const fn page_bytes() -> Option<u64> {
    None
}
