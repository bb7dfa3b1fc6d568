//! Requests in flight by the figures of a job, beside those of its options.

use super::set_aside::SetAside;
use loadline_workload::{Arrival, LoadSpec, THREADS_MAX};

/// Rate times latency may be so much above the requests that a load has in flight: figures are rounded.
const TOLERANCE: f64 = 1.25;

/// Rate times mean latency is what was in flight, `found`. Clones that a version of fio does not report make it more than the options
/// say; they are taken for threads. Gives what is said of it.
pub(super) fn contradiction(spec: &mut LoadSpec, aside: &SetAside, found: f64) -> Option<String> {
    let Arrival::Closed { queue_depth, .. } = spec.arrival else { return None };
    let asked = f64::from(queue_depth) * f64::from(spec.threads);
    if found <= asked * TOLERANCE {
        return None;
    }
    let begin =
        format!("The figures contradict the options: these have {asked} in flight, rate times latency is {found:.1}");
    let threads = (found / f64::from(queue_depth)).round();
    let is_told = aside.options.iter().any(|(key, _)| key == "numjobs");
    if is_told || threads > f64::from(THREADS_MAX) {
        return Some(format!("{begin}. Which depth they are of is not known"));
    }
    spec.threads = threads as u32;
    Some(format!(
        "{begin}. Some versions of fio do not report numjobs of the global section: {threads} clones are taken here. Which depth each \
         had is not known"
    ))
}
