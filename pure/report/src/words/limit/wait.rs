//! How requests wait.

use loadline_analysis::listed;
use loadline_record::{TakenTime, WaitingFact};
use loadline_units::words::{number, percent, seconds, small_number, span};

/// Requests served at once are a whole number if they come as near to one.
const WHOLE: f64 = 0.03;

pub(in crate::words) fn waiting(fact: &WaitingFact) -> String {
    match fact {
        WaitingFact::KeptAbove { outstanding, at_devices, devices } => format!(
            "Requests are kept above the device, by a throttle of the kernel (cgroup), a queue limit or the file system: of {} \
             outstanding {} had {} on average.",
            number(*outstanding),
            listed(devices),
            small_number(*at_devices)
        ),
        WaitingFact::InBursts { median_ns, slow_share, slow_ns } => format!(
            "Half of its requests take at most {}, {} take about {}, and hardly any take a time between these: they are let through in \
             bursts, as a throttle does.",
            span(*median_ns),
            percent(*slow_share),
            span(*slow_ns)
        ),
        WaitingFact::TakesLonger { takes, fewer_ns } => {
            format!("Its requests take {}, and {} where fewer are outstanding.", taken(*takes), span(*fewer_ns))
        }
        WaitingFact::WaitsForTurn => {
            "Most of the time its requests wait for a turn, by how their latencies spread.".to_owned()
        }
        WaitingFact::SteadyRate => {
            "Its rate is steadier than its latencies would make it: something counts.".to_owned()
        }
        WaitingFact::CompletedOnly { share } => format!("Only {} of the offered load was completed.", percent(*share)),
        WaitingFact::Waits => "Its requests wait.".to_owned(),
        WaitingFact::FewWait { mean_ns, median_ns } => format!(
            "Half of its requests take at most {}, and the mean is {}: most of the time some few wait, and nothing shows for what.",
            span(*median_ns),
            span(*mean_ns)
        ),
        WaitingFact::MoreForAWhile { amount, rate_iops, longest_ns } => format!(
            "At {amount} there were {} a second, for {}: no more than what a token bucket of a second saves up.",
            number(*rate_iops),
            seconds(*longest_ns)
        ),
        WaitingFact::HadMore { amount, rate_iops } => {
            format!("At {amount} the same requests had {} a second: this is no limit.", number(*rate_iops))
        }
        WaitingFact::FewerHadMore { amount, other_iops, rate_iops } => format!(
            "{amount} had {} IOPS, and this load {}: either something took from it, or what the other lived on was spent, and a limit \
             holds from then on. To be sure, measure it alone for longer.",
            number(*other_iops),
            number(*rate_iops)
        ),
        WaitingFact::ThrottleChanged { rate_iops } => format!(
            "A throttle let {} a second through while this load went on, and other loads of the run show another limit: it changed. \
             Whether requests or bytes are counted is presumed.",
            number(*rate_iops)
        ),
        WaitingFact::DurableEach { .. } | WaitingFact::OneAtATime { .. } | WaitingFact::ServedAtOnce { .. } => {
            served_at_once(fact)
        }
        WaitingFact::InMemoryBelow => {
            "The data lay in memory below the device, and nothing counts these requests.".to_owned()
        }
    }
}

fn served_at_once(fact: &WaitingFact) -> String {
    match fact {
        WaitingFact::DurableEach { takes, fewer_ns, rate_iops, served } => format!(
            "Each of these writes is durable before it is answered (FUA). It takes {}, and {} where fewer are outstanding: {} IOPS                  are what {} made durable at once come to.",
            taken(*takes),
            span(*fewer_ns),
            number(*rate_iops),
            places(*served)
        ),
        WaitingFact::OneAtATime { takes, fewer_ns, rate_iops } => format!(
            "Its requests take {}, and {} where fewer are outstanding: {} IOPS are no more than one at a time makes. Presumably they are \
             served one after the other; another block size would show whether something counts them instead.",
            taken(*takes),
            span(*fewer_ns),
            number(*rate_iops)
        ),
        WaitingFact::ServedAtOnce { takes, fewer_ns, rate_iops, served } => format!(
            "Its requests take {}, and {} where fewer are outstanding: {} IOPS are what {} served at once make. Nothing shows that \
             requests or bytes are limited; more depth, and other block sizes, would show whether they are.",
            taken(*takes),
            span(*fewer_ns),
            number(*rate_iops),
            places(*served)
        ),
        _ => String::new(),
    }
}

/// "8", or "about 5.4".
fn places(served: f64) -> String {
    let whole = served.round();
    if (served - whole).abs() <= WHOLE * whole.max(1.0) { number(whole) } else { format!("about {}", number(served)) }
}

/// "6.40 ms", with what it is from when they were due where that is another.
pub(super) fn taken(time: TakenTime) -> String {
    let own = span(time.latency_ns);
    time.from_due_ns.map_or_else(
        || own.clone(),
        |from_due| format!("{own} from their issue on ({} from when they were due)", span(from_due)),
    )
}
