//! What the machine did meanwhile.

use loadline_record::{MachineFact, ThrottledRequests};
use loadline_units::words::percent;

pub(in crate::words) fn machine(fact: &MachineFact) -> String {
    match fact {
        MachineFact::CpuBusy { busy_share, tool_share } => format!(
            "The machine's CPUs were {} busy, {} of it with the tool itself; no load thread was at its limit.",
            percent(*busy_share),
            tool_share.map_or_else(|| "an unknown part".to_owned(), percent)
        ),
        MachineFact::NoCpu { share } => {
            format!("They were ready to run and had no CPU for {} of the time.", percent(*share))
        }
        MachineFact::CpuTaken { share } => {
            format!("Of all CPU time the hypervisor took {}: this machine did not have it.", percent(*share))
        }
        MachineFact::CpuBusyMeanwhile { busy_share, tool_share, depths } => format!(
            "The machine's CPUs were {} busy meanwhile, {} of it with the tool itself; want of CPU does not leave rates as equal as \
             these at {depths} depths. A quiet machine may have more all the same.",
            percent(*busy_share),
            percent(*tool_share)
        ),
        MachineFact::PageCacheTook { requests, reached_share } => {
            let what = match requests {
                ThrottledRequests::Reads => "reads",
                ThrottledRequests::Writes => "writes",
            };
            format!(
                "Of the bytes that {what} asked for, {} reached the devices: the page cache took the others.",
                percent(*reached_share)
            )
        }
        MachineFact::InPageCache { share } => {
            format!("{} of the file lay in the page cache before it began.", percent(*share))
        }
    }
}
