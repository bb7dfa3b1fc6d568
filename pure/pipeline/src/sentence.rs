//! What bound a source, in plain words. The figures come from the evidence; nothing is decided here.

use crate::attribution::{Attribution, Bound, Doubtful, Evidence, StationEvidence};
use crate::lever::Lever;
use loadline_record::{PipelineSpec, Station, VolumeRole};
use loadline_units::words::{span, whole_percent as percent};

impl Lever {
    /// The part in words, as in "bound by ...". `spec` names the sources.
    #[must_use]
    pub fn words(self, spec: &PipelineSpec) -> String {
        let source = |place: usize| spec.sources.get(place).map_or("?", |source| source.name.as_str());
        match self {
            Self::Discovery(of) => format!("discovery: {} finds its items too slowly", source(of)),
            Self::Politeness(of) => format!("politeness towards the hosts of {}", source(of)),
            Self::Repository(of) => format!("the repository of {}: its latency times the slots", source(of)),
            Self::Connections(of) => format!("the connections to {}", source(of)),
            Self::Network => "the network".to_owned(),
            Self::Cores => "the processors".to_owned(),
            Self::Workers(station) => format!("too few {station} workers"),
            Self::Volume(role) => match role {
                VolumeRole::Index => "the index volume".to_owned(),
                VolumeRole::Data => "the database's data volume".to_owned(),
                VolumeRole::Log => "the database's log volume".to_owned(),
            },
            Self::Waits(Station::Database) => "a lock or the server of the database".to_owned(),
            Self::Waits(station) => format!("something that {station} waits for"),
            Self::Commit => "the commit policy: index and database are made durable often".to_owned(),
            Self::Memory => "the memory for index segments: small ones are written often".to_owned(),
            Self::Merges => "merges of index segments".to_owned(),
        }
    }
}

/// "1.9 times"
fn times(elasticity: f64) -> String {
    format!("{:.1} times", libm::exp2(elasticity))
}

impl Attribution {
    /// One or two sentences.
    #[must_use]
    pub fn sentence(&self, spec: &PipelineSpec) -> String {
        let (source, evidence) = (&self.source, &self.evidence);
        match &self.bound {
            Bound::By(lever) => {
                let effect = effect(evidence, *lever);
                format!(
                    "{source} is bound by {}. {}{}{effect}",
                    lever.words(spec),
                    figures(*lever, evidence),
                    tail(evidence)
                )
            }
            Bound::Shared(levers) => {
                let parts: Vec<String> = levers.iter().map(|lever| lever.words(spec)).collect();
                let first = levers.first().map(|lever| effect(evidence, *lever)).unwrap_or_default();
                match parts.len() {
                    1 => format!("{source} is bound in part by {}.{first}", parts[0]),
                    _ => format!("{source} is bound by several parts: {}.{first}", parts.join("; ")),
                }
            }
            Bound::Failed => format!("{source} failed: no item came. It has no rate."),
            Bound::CannotTell(why) => format!("What limits {source} is not known: {}.", why.words(spec)),
        }
    }
}

impl Doubtful {
    /// The reason, as it follows a colon.
    #[must_use]
    pub fn words(&self, spec: &PipelineSpec) -> String {
        match self {
            Self::FewItems { items } => format!("{items} items are too few"),
            Self::NoSample => "the record has no sample of its items".to_owned(),
            Self::ReplayOff { error } => {
                let than = if *error > 0.0 { "longer" } else { "shorter" };
                format!("the replay takes {} {than} than the crawl did", percent(error.abs()))
            }
            Self::Flat => "no part has an effect of note when it is twice as fast".to_owned(),
            Self::Disagree { clocks, replay } => {
                format!("the clocks name {}, the replay {}", clocks.words(spec), replay.words(spec))
            }
        }
    }
}

fn effect(evidence: &Evidence, lever: Lever) -> String {
    let found = evidence.by_replay.iter().find(|of| of.lever == lever);
    let change = match lever {
        Lever::Repository(_) => "With twice the slots",
        Lever::Connections(_) => "With twice the connections",
        Lever::Commit => "With half as many commits",
        Lever::Memory => "With twice the memory",
        Lever::Workers(_) => "With half the processor time",
        Lever::Politeness(_) => "With half the delay and twice the limit per host",
        _ => "Twice as fast there",
    };
    found.map(|of| format!(" {change}, its rate would be {}.", times(of.elasticity))).unwrap_or_default()
}

/// The figures behind a part, in a sentence.
fn figures(lever: Lever, evidence: &Evidence) -> String {
    let allowed = evidence.in_flight_allowed;
    match lever {
        Lever::Repository(_) => format!(
            "{:.1} of {allowed} fetches are in flight, and each waits {} for its first byte.",
            evidence.in_flight,
            span(evidence.repository_latency_ns)
        ),
        Lever::Politeness(_) => {
            let rule = evidence.gate_rule.map_or("a rule", loadline_record::GateRule::name);
            format!("The slots are kept back by the {rule} for {} of their time.", percent(evidence.slots.gated))
        }
        Lever::Discovery(_) => {
            format!("The slots have nothing to fetch for {} of their time.", percent(evidence.slots.starved))
        }
        Lever::Cores => cores(evidence),
        _ => evidence.station.as_ref().map_or_else(
            || format!("{:.1} of {allowed} fetches are in flight.", evidence.in_flight),
            |station| at_station(station, evidence),
        ),
    }
}

fn cores(evidence: &Evidence) -> String {
    let taken = evidence.cores_taken;
    let others = [(taken.others, "other processes"), (taken.steal, "the hypervisor"), (taken.throttled, "a quota")];
    let most = others.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).filter(|most| most.0 >= 0.05);
    let rest = most.map(|(share, who)| format!(" Besides, {who} took {}.", percent(share))).unwrap_or_default();
    format!("They are busy for {} of the time.{rest}", percent(evidence.cores_busy))
}

fn at_station(station: &StationEvidence, evidence: &Evidence) -> String {
    let StationEvidence { station: name, workers, shares, on_cpu, device, .. } = station;
    let of_work =
        format!("{} of its work is on a processor, {} waits for a volume", percent(*on_cpu), percent(*device));
    let shared = if station.by_source.len() > 1 { ", for several sources" } else { "" };
    format!(
        "The {workers} {name} {} busy for {} of the time{shared}; {of_work}. The slots are blocked for {}.",
        if *workers == 1 { "worker is" } else { "workers are" },
        percent(shares.busy),
        percent(evidence.slots.blocked)
    )
}

fn tail(evidence: &Evidence) -> String {
    if evidence.tail >= 0.3 {
        format!(" For {} of its time few hosts were left.", percent(evidence.tail))
    } else {
        String::new()
    }
}
