//! Levels and their kinds.

use super::load::offered;
use crate::words::ceiling::{direction, rate_figure};
use loadline_record::{
    DevicesAlike, KindShown, LevelFact, LevelShown, OtherSizes, PresumedBy, RoundUnit, ThrottledQuantity,
    ThrottledRequests,
};
use loadline_units::Bytes;
use loadline_units::words::{block, capital, counted, number, percent, span, throughput};

pub(in crate::words) fn level(fact: &LevelFact) -> String {
    match fact {
        LevelFact::Plateau { .. } => plateau(fact),
        LevelFact::LargerMoveMore { load, bytes_per_s } => format!(
            "The limit is not on bytes: {load} move {}. Whether requests are counted or each takes its time is not known: no other load \
             levels off at as many.",
            throughput(*bytes_per_s)
        ),
        LevelFact::NoOtherSize => {
            "Whether the limit is on requests or on bytes is not known: no other block size levels off at the same rate."
                .to_owned()
        }
        LevelFact::BytesOfLevel { bytes_per_s, load, level_bytes_per_s } => format!(
            "It moves {}, the rate at which {load} level off ({}).",
            throughput(*bytes_per_s),
            throughput(*level_bytes_per_s)
        ),
        LevelFact::RequestsOfLevel { rate_iops, load, level_iops, shown } => format!(
            "It completes {} requests a second, the rate at which {load} level off ({}){}.",
            number(*rate_iops),
            number(*level_iops),
            shown.as_ref().map_or_else(String::new, |shown| format!("; {}", kind(shown)))
        ),
        LevelFact::BothDirections { load, rate_iops, bytes_per_s, other, other_iops, other_bytes_per_s } => format!(
            "It has the rate of {load}, {} IOPS ({}). Reads and writes of {other} share another one, {} IOPS ({}).",
            number(*rate_iops),
            throughput(*bytes_per_s),
            number(*other_iops),
            throughput(*other_bytes_per_s)
        ),
        LevelFact::EqualBytes { .. } | LevelFact::EqualRequests { .. } => equal(fact),
        LevelFact::ExplainsAll { rate_iops, bytes_per_s } => {
            let requests = rate_iops.map(|rate| format!("{} requests", number(rate)));
            let bytes = bytes_per_s.map(|rate| throughput(rate).trim_end_matches("/s").to_owned());
            let parts: Vec<String> = requests.into_iter().chain(bytes).collect();
            format!("{} a second explain all loads of this kind and no other pair does.", parts.join(" and "))
        }
        LevelFact::LimitOfAnother { load, rate_iops } => {
            format!("It is the limit that {load} show ({} IOPS).", number(*rate_iops))
        }
        LevelFact::PresumedByLarger { load, bytes_per_s, next_block_bytes } => format!(
            "Presumably requests are counted and not bytes, of which {load} move {}: no other block size was measured at as many. To be \
             sure, test {} too.",
            throughput(*bytes_per_s),
            block(*next_block_bytes)
        ),
        LevelFact::Presumed { counted, by, others, next_block_bytes } => {
            presumed(*counted, by, *others, *next_block_bytes)
        }
        LevelFact::WholePlaces { places } => format!(
            "That is what {} served at once make, for single requests all take as long: presumably the device has so many places. \
             To rule out a limit on requests, test another block size too.",
            number(*places)
        ),
        LevelFact::OneDirection { .. } => one_direction(fact),
        LevelFact::VolumesAlike { .. } => volumes_alike(fact),
        LevelFact::NoLimitOfDevices { level } => format!(
            "Other loads of this volume show that {} is no limit of its devices: a volume with another number of them stops there, \
             too.",
            rate_figure(*level)
        ),
    }
}

fn plateau(fact: &LevelFact) -> String {
    let LevelFact::Plateau { rate_iops, bytes_per_s, from_depth, offered: of, shown } = fact else {
        return String::new();
    };
    let level = format!(
        "the rate levels off at {} IOPS ({}) from {} outstanding on",
        number(*rate_iops),
        throughput(*bytes_per_s),
        number(*from_depth as f64)
    );
    let level = of.map_or_else(|| capital(&level), |of| format!("{}; {level}", offered(of, "offered")));
    match shown {
        LevelShown::Alone => format!("{level}."),
        LevelShown::PageCache => {
            format!("{level}, with the page cache taking part: that need not be the disk's.")
        }
        LevelShown::Turns => {
            format!("{level}, in turns of a throttle, while other loads of the run show another limit: it changed.")
        }
        LevelShown::Kind(shown) => format!("{level}; {}.", kind(shown)),
    }
}

/// "16 KiB requests reach as many requests a second".
fn kind(shown: &KindShown) -> String {
    match shown {
        KindShown::OtherSize { load, counted: ThrottledQuantity::Requests } => {
            format!("{load} reach as many requests a second")
        }
        KindShown::OtherSize { load, counted: ThrottledQuantity::Bytes } => {
            format!("{load} move as many bytes a second")
        }
        KindShown::AnotherLoad { load, shown } => format!("{load} level off there too, and {}", kind(shown)),
        KindShown::Agreement { load, larger, larger_bytes_per_s } => format!(
            "{load} stop at the same rate, so requests or bytes are counted; bytes are not, since {larger} move {}",
            throughput(*larger_bytes_per_s)
        ),
    }
}

fn equal(fact: &LevelFact) -> String {
    let (load, amount, what, level, other, own) = match fact {
        LevelFact::EqualBytes { load, amount, bytes_per_s, other_bytes, own_bytes } => {
            let size = |bytes: f64| Bytes::new(bytes as u64).human();
            (load, amount, "bytes", throughput(*bytes_per_s), size(*other_bytes), size(*own_bytes))
        }
        LevelFact::EqualRequests { load, amount, rate_iops, other_depth, own_depth } => {
            let level = format!("{} IOPS", number(*rate_iops));
            (load, amount, "requests", level, number(*other_depth), number(*own_depth))
        }
        _ => return String::new(),
    };
    format!(
        "{load} ({amount}) have as many {what} a second ({level}), with {other} outstanding at once and {own} here: requests that \
         wait for nothing would not."
    )
}

fn presumed(counted: ThrottledQuantity, by: &PresumedBy, others: OtherSizes, next_block_bytes: u64) -> String {
    let (what, not) = match counted {
        ThrottledQuantity::Requests => ("requests", "bytes"),
        ThrottledQuantity::Bytes => ("bytes", "requests"),
    };
    let rule = match by {
        PresumedBy::RoundFigure { figure, unit } => {
            let unit = match unit {
                RoundUnit::MibPerS => "MiB/s",
                RoundUnit::MbPerS => "MB/s",
            };
            format!("by the round figure of {figure} {unit}")
        }
        PresumedBy::AsSold => "as disks are sold".to_owned(),
    };
    let why = match others {
        OtherSizes::WaitAtOtherRates => "no other block size waits at as many requests or bytes a second",
        OtherSizes::NotAtALimit => "no other block size was measured at a limit",
    };
    format!(
        "Presumably {what} are counted and not {not}, {rule}: {why}. To be sure, test {} too.",
        block(next_block_bytes)
    )
}

fn one_direction(fact: &LevelFact) -> String {
    let LevelFact::OneDirection {
        direction: of,
        rate_iops,
        level_iops,
        latency_ns,
        other_latency_ns,
        share,
        ceiling_iops,
    } = fact
    else {
        return String::new();
    };
    let other = match of {
        ThrottledRequests::Reads => ThrottledRequests::Writes,
        ThrottledRequests::Writes => ThrottledRequests::Reads,
    };
    format!(
        "Its {name} stop at {rate} a second, where {name} alone level off ({level} IOPS), and take {own} on average; {other} take {its} \
         and wait for nothing of the kind. So the limit of {name} binds: at {share} {name} it lets {ceiling} requests of this mix \
         through, and {other} by themselves could have more.",
        name = direction(*of),
        other = direction(other),
        rate = number(*rate_iops),
        level = number(*level_iops),
        own = span(*latency_ns),
        its = span(*other_latency_ns),
        share = percent(*share),
        ceiling = number(*ceiling_iops),
    )
}

fn volumes_alike(fact: &LevelFact) -> String {
    let LevelFact::VolumesAlike { volume, devices, own_devices, level, each, shown } = fact else {
        return String::new();
    };
    let each =
        each.map_or_else(String::new, |each| format!(" ({} on each of {})", rate_figure(each.level), each.devices));
    let seen = format!(
        "Volume {volume} with {} levels off at the same {} as this one with {own_devices}",
        counted(*devices as usize, "device"),
        rate_figure(*level)
    );
    match shown {
        DevicesAlike::WaitAbove => format!(
            "{seen}. Requests wait above the devices, so it is not on the way to them: either limits of single devices add up to as \
             much{each}, or something above all devices holds both volumes. To be sure, load both at once."
        ),
        DevicesAlike::OneKind => {
            format!("{seen}, and the devices are of one kind: what they have in common stops them, not their devices.")
        }
        DevicesAlike::Unknown => format!(
            "{seen}: what they have in common stops them, not their devices, unless limits of single devices happen to add up to as \
             much{each}. To be sure, load both at once."
        ),
    }
}
