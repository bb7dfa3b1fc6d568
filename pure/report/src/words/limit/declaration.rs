//! Limits that something tells of.

use super::wait::taken;
use crate::words::ceiling_source;
use crate::words::throttle::throttle as said;
use loadline_analysis::{HeldBy, listed};
use loadline_record::{DeclaredFact, Limit, WaitsByDeclared};
use loadline_units::words::{number, percent, span};

pub(in crate::words) fn declared(fact: &DeclaredFact) -> String {
    match fact {
        DeclaredFact::Reaches { share, ceiling_iops, source, waits: why } => format!(
            "It comes to {} of {} IOPS{}: {}.",
            percent(*share),
            number(*ceiling_iops),
            why.map_or_else(String::new, |why| {
                format!(", and {}, so that not every part of the storage is always asked", waits(why))
            }),
            ceiling_source(source)
        ),
        DeclaredFact::Surpassed { limit, ceiling_iops, source, share, lower } => {
            let parts: Vec<String> = (lower.iter())
                .map(|other| format!("{} at {} IOPS", other.limit.name(), number(other.ceiling_iops)))
                .collect();
            let lower =
                if parts.is_empty() { String::new() } else { format!(" Nor does what is lower: {}.", listed(&parts)) };
            format!(
                "A declared limit does not hold here: {} at {} IOPS ({}), of which it had {}.{lower}",
                limit.name(),
                number(*ceiling_iops),
                ceiling_source(source),
                percent(*share)
            )
        }
        DeclaredFact::BelowAll { limit, ceiling_iops, source } => format!(
            "It is below every ceiling of the environment, of which {} is the lowest ({} IOPS: {}).",
            limit.name(),
            number(*ceiling_iops),
            ceiling_source(source)
        ),
        DeclaredFact::Exceeded { limit, share, devices } => {
            let allowed = match limit {
                Limit::DiskIops => "requests per second than the volume allows",
                Limit::DiskThroughput => "bytes per second than the volume allows",
                Limit::VmUncachedIops => "requests per second than the machine allows all its volumes together",
                _ => "bytes per second than the machine allows all its volumes together",
            };
            format!(
                "By the device's own counters ({}) the load asked for more {allowed} during {} of the time.",
                devices.join(", "),
                percent(*share)
            )
        }
        DeclaredFact::Throttle { share, device, devices, throttle, through_per_s } => {
            let held = HeldBy { device: device.clone(), devices: *devices, limit: throttle.clone() };
            let rounded = through_per_s.map_or_else(String::new, |through| {
                let through = number(through as f64);
                format!(", of which it lets {through} through: whole ones in each tenth of a second")
            });
            format!("The load had {} of its limit: {}{rounded}.", percent(*share), said(&held))
        }
    }
}

/// What shows that requests wait for more than the device.
fn waits(why: WaitsByDeclared) -> String {
    match why {
        WaitsByDeclared::DeviceNeeds { takes, needs_ns } => {
            format!("its requests take {} where the device needs about {}", taken(takes), span(needs_ns))
        }
        WaitsByDeclared::SingleOnes { takes, single_ns } => {
            format!("its requests take {} and single ones {}", taken(takes), span(single_ns))
        }
        WaitsByDeclared::Counted => "its requests are let through at a counted rate".to_owned(),
    }
}
