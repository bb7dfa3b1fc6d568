//! Crawls in plain words: what bound a source, what slowing stations showed, and what two crawls beside each other show.

use super::doubt::source_limit;
use loadline_pipeline::{
    Amount, Assumed, Attribution, Bound, Confirmation, ConfirmedBy, CrawlConfounder, CrawlFinding, Doubtful, Evidence,
    HeldVolumes, Lever, LiveCrawl, MeasuredElasticity, NamedShare, RepositoryReading, StationEvidence, larger_commits,
};
use loadline_record::{GateRule, PipelineSpec, SlowedStation, SourceLimit, Station, VolumeRole};
use loadline_units::words::{listed, span, whole_percent as percent};

/// What knows its sources by their places.
pub trait SourceNames {
    /// The name of the source at a place.
    fn source_name(&self, place: usize) -> Option<&str>;
}

impl SourceNames for PipelineSpec {
    fn source_name(&self, place: usize) -> Option<&str> {
        self.sources.get(place).map(|source| source.name.as_str())
    }
}

impl SourceNames for LiveCrawl {
    fn source_name(&self, place: usize) -> Option<&str> {
        self.sources.get(place).map(|source| source.name.as_str())
    }
}

/// A part of the pipeline, as in "bound by ...".
#[must_use]
pub fn lever(lever: Lever, of: &impl SourceNames) -> String {
    let source = |place: usize| of.source_name(place).unwrap_or("?");
    match lever {
        Lever::Discovery(of) => format!("discovery: {} finds its items too slowly", source(of)),
        Lever::Politeness(of) => format!("politeness towards the hosts of {}", source(of)),
        Lever::Repository(of) => format!("the repository of {}: its latency times the slots", source(of)),
        Lever::Connections(of) => format!("the connections to {}", source(of)),
        Lever::Network => "the network".to_owned(),
        Lever::Cores => "the processors".to_owned(),
        Lever::Workers(station) => format!("too few {station} workers"),
        Lever::Volume(role) => match role {
            VolumeRole::Index => "the index volume".to_owned(),
            VolumeRole::Data => "the database's data volume".to_owned(),
            VolumeRole::Log => "the database's log volume".to_owned(),
        },
        Lever::Waits(Station::Database) => "a lock or the server of the database".to_owned(),
        Lever::Waits(station) => format!("something that {station} waits for"),
        Lever::Commit => "the commit policy: index and database are made durable often".to_owned(),
        Lever::Memory => "the memory for index segments: small ones are written often".to_owned(),
        Lever::Merges => "merges of index segments".to_owned(),
    }
}

/// "1.9 times"
fn times(elasticity: f64) -> String {
    format!("{:.1} times", elasticity.exp2())
}

/// What bound a source, in one or two sentences.
#[must_use]
pub fn attribution(of: &Attribution, spec: &PipelineSpec) -> String {
    let (source, evidence) = (&of.source, &of.evidence);
    match &of.bound {
        Bound::By(part) => format!(
            "{source} is bound by {}. {}{}{}",
            lever(*part, spec),
            figures(*part, evidence),
            tail(evidence),
            effect(evidence, *part, spec)
        ),
        Bound::Shared(parts) => {
            let first = parts.first().map(|part| effect(evidence, *part, spec)).unwrap_or_default();
            let parts: Vec<String> = parts.iter().map(|part| lever(*part, spec)).collect();
            match parts.len() {
                1 => format!("{source} is bound in part by {}.{first}{}", parts[0], against(of, spec)),
                _ => format!("{source} is bound by several parts: {}.{first}{}", parts.join("; "), against(of, spec)),
            }
        }
        Bound::Failed => format!("{source} failed: no item came. It has no rate."),
        Bound::CannotTell(why) => format!("What limits {source} is not known: {}.", doubtful(*why, spec)),
    }
}

/// A limit at which volumes were: "a kernel throttle ..., 93 % of the time (index and data volumes)".
#[must_use]
pub fn held(of: &HeldVolumes) -> String {
    let names: Vec<String> = of.volumes.iter().map(|role| role.name().to_owned()).collect();
    let whose = match names.as_slice() {
        [] => String::new(),
        [one] => format!(" ({one} volume)"),
        several => format!(" ({} volumes)", listed(several)),
    };
    format!("{}, {} of the time{whose}", source_limit(&of.limit), percent(of.share))
}

/// How that is known.
#[must_use]
pub fn held_by_what(limit: &SourceLimit) -> String {
    match limit {
        SourceLimit::Throttle { limit, .. } => format!("certain: read from {}", limit.file),
        SourceLimit::Queue { queue } => format!("certain: read from {}", queue.file),
        SourceLimit::Memory { limit, .. } => format!("certain: read from {}", limit.file),
        SourceLimit::Quota { quota: Some(quota), .. } => format!("certain: read from {}", quota.file),
        SourceLimit::Quota { quota: None, .. } => "likely: the kernel counts that a quota ran out".to_owned(),
        SourceLimit::Exceeded { .. } => "certain: the volume counts it".to_owned(),
    }
}

/// What is said of a crawl that was not watched.
pub const NO_SURROUNDINGS: &str = "what held its volumes is not known: it was kept without its surroundings";
/// The next step of a limit that stands in a file.
pub const LIFT: &str = "if this limit is not meant, lift it: that costs nothing";

/// The parts that bound a source, without their figures.
#[must_use]
pub fn bound(of: &Bound, spec: &impl SourceNames) -> String {
    match of {
        Bound::By(part) => lever(*part, spec),
        Bound::Shared(parts) => parts.iter().map(|part| lever(*part, spec)).collect::<Vec<_>>().join(" and "),
        Bound::Failed => "failed".to_owned(),
        Bound::CannotTell(_) => "not known".to_owned(),
    }
}

/// Why there is no answer, as it follows a colon.
fn doubtful(why: Doubtful, spec: &PipelineSpec) -> String {
    match why {
        Doubtful::FewItems { items } => format!("{items} items are too few"),
        Doubtful::NoSample => "the record has no sample of its items".to_owned(),
        Doubtful::ReplayOff { error } => {
            let than = if error > 0.0 { "longer" } else { "shorter" };
            format!("the replay takes {} {than} than the crawl did", percent(error.abs()))
        }
        Doubtful::Flat => "no part has an effect of note when it is twice as fast".to_owned(),
        Doubtful::Disagree { clocks, replay } => {
            format!("the clocks name {}, the replay {}", lever(clocks, spec), lever(replay, spec))
        }
    }
}

/// What speaks against the answer, which follows the replay.
fn against(of: &Attribution, spec: &PipelineSpec) -> String {
    let clocks = of.clocks_against();
    let said = |clocks: NamedShare| {
        format!(" But the clocks name {} for {} of the time.", lever(clocks.lever, spec), percent(clocks.share))
    };
    clocks.map(said).unwrap_or_default()
}

fn effect(evidence: &Evidence, lever: Lever, spec: &PipelineSpec) -> String {
    // What a setting gives is what its what-if says.
    let by_setting = evidence.by_settings.iter().find(|of| of.lever == lever);
    let found = by_setting.or_else(|| evidence.by_replay.iter().find(|of| of.lever == lever));
    let larger = match larger_commits(spec) {
        Amount::To(items) if by_setting.is_some() => format!("With a commit every {items} items"),
        _ => "With half as many commits".to_owned(),
    };
    let change = match lever {
        Lever::Workers(_) if by_setting.is_some() => "With twice the workers",
        Lever::Cores if by_setting.is_some() => "With twice the processors, and workers for them",
        Lever::Repository(_) => "With twice the slots",
        Lever::Connections(_) => "With twice the connections",
        Lever::Commit => &larger,
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
            let rule = evidence.gate_rule.map_or("a rule", GateRule::name);
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

/// Whether slowing stations by this share agrees with what is named, and the figures.
#[must_use]
pub fn confirmation(of: &Confirmation, spec: &PipelineSpec, share: f64) -> String {
    let figures = |of: &MeasuredElasticity| {
        format!("{} {:.1} ({:.1} to {:.1})", slowed(of.slowed, spec), of.elasticity, of.low, of.high)
    };
    let named = of.expected.and_then(|expected| of.measured.iter().find(|found| found.slowed == expected));
    let most = named.or_else(|| of.measured.first()).map(figures);
    let source = &of.source;
    let slower = percent(share);
    match (of.agreement, most) {
        (ConfirmedBy::Agrees, Some(most)) => {
            format!("Slowing stations by {slower} agrees for {source}: effect of {most}.")
        }
        (ConfirmedBy::Disagrees, Some(most)) => {
            let first = of.measured.first().map(figures).unwrap_or_default();
            format!("Slowing stations by {slower} disagrees for {source}: effect of {most}; the largest is {first}.")
        }
        (ConfirmedBy::NotTested, _) => {
            format!("Slowing stations does not test what is named for {source}.")
        }
        (_, most) => {
            let most = most.map(|most| format!(": effect of {most}")).unwrap_or_default();
            format!("Slowing stations by {slower} does not decide for {source}{most}. Crawl for longer.")
        }
    }
}

/// A station as it is printed.
#[must_use]
pub fn slowed(slowed: SlowedStation, spec: &PipelineSpec) -> String {
    match slowed {
        SlowedStation::Fetch(source) => {
            format!("fetch {}", spec.sources.get(source as usize).map_or("?", |source| source.name.as_str()))
        }
        SlowedStation::Line(station) => station.name().to_owned(),
    }
}

/// What an interval of a what-if allows for.
#[must_use]
pub fn assumed(of: &Assumed) -> String {
    match of {
        Assumed::BatchWaits => "batches of another size may wait as long".to_owned(),
        Assumed::Processors { .. } => "busy processors may slow each other".to_owned(),
        Assumed::Repository { source, .. } => format!("{source} may answer more at once slower"),
        Assumed::HandingOn => "handing items on may take time".to_owned(),
    }
}

/// What the repository's latency explains, in a few words. `other` is the name of the second crawl.
#[must_use]
pub fn reading(of: RepositoryReading, base: &str, other: &str) -> String {
    match of {
        RepositoryReading::Unknown => "a figure is missing".to_owned(),
        RepositoryReading::Failed => "no item came in one of them".to_owned(),
        RepositoryReading::Explains => "the rate follows the repository's latency".to_owned(),
        RepositoryReading::HeldBackBefore => format!("something else held it back in {base}"),
        RepositoryReading::HeldBackNow => format!("something else holds it back in {other}"),
        RepositoryReading::NotBoundNow => format!("not bound by its repository in {other}"),
    }
}

/// A sentence or two.
#[must_use]
pub fn finding(of: &CrawlFinding) -> String {
    match of {
        CrawlFinding::Failed { crawl, source, after_ns } => {
            format!("{crawl}: {source} failed. No item came in {}; it has no rate.", span(*after_ns as f64))
        }
        CrawlFinding::EndsTogether { crawl, sources, within_ns } => format!(
            "{crawl}: {} end within {} of each other. One thing ends them, so their rates are not independent.",
            sources.join(", "),
            span(*within_ns as f64)
        ),
        CrawlFinding::NotBoundByRepository { crawl, source, latency_ratio, rate_ratio, in_flight } => format!(
            "{crawl}: the repository does not limit {source}. Its latency is {latency_ratio:.2} times the other crawl's and its rate \
             {rate_ratio:.2} times: {:.1} fetches are in flight, after {:.1}.",
            in_flight[1], in_flight[0]
        ),
        CrawlFinding::BoundByRepository { crawl, source, in_flight, slots } => format!(
            "{crawl}: the repository limits {source}. {in_flight:.1} of {slots} fetches are in flight: latency times slots is its limit."
        ),
        CrawlFinding::MostInFlight { crawl, source, share, in_flight } => {
            format!("{crawl}: {source} has {:.0} % of all fetches in flight ({in_flight:.1}).", share * 100.0)
        }
        CrawlFinding::StatedRateOff { crawl, source, stated_per_s, counted_per_s } => format!(
            "{crawl}: the stated rate of {source}, {stated_per_s:.1}/s, is not its count over its duration: that is {counted_per_s:.1}/s."
        ),
    }
}

/// What differs, in a few words. `base` and `other` are the crawls' names.
#[must_use]
pub fn confounder(of: &CrawlConfounder, base: &str, other: &str) -> String {
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "not known".to_owned());
    match of {
        CrawlConfounder::Items { source, base: before, other: now } => {
            format!("{source} has {before} items in {base} and {now} in {other}: compare rates, not durations")
        }
        CrawlConfounder::Beside { source, crawl } => {
            format!("{source} worked in {crawl} alone: the other sources had less room there")
        }
        CrawlConfounder::Fact { name, base: before, other: now } => {
            format!("{name}: {} in {base}, {} in {other}", known(before), known(now))
        }
        CrawlConfounder::Slots { source, base: before, other: now } => {
            format!("{source} may have {before} fetches in flight in {base} and {now} in {other}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_pipeline::{CoresTaken, Elasticity, WorkerShares};
    use loadline_record::SourceSpec;
    use loadline_units::Bytes;

    fn spec() -> PipelineSpec {
        let station = loadline_record::StationSpec {
            workers: 1,
            queue: loadline_record::QueueBound { items: 1, bytes: Bytes::new(1) },
        };
        PipelineSpec {
            cores: 2,
            network: None,
            sources: vec![SourceSpec {
                name: "share".to_owned(),
                slots: 8,
                politeness: loadline_record::Politeness::default(),
                connections: None,
            }],
            extract: station,
            index: station,
            database: station,
            segments: None,
            commit: None,
        }
    }

    fn of(bound: Bound, part: Lever) -> String {
        attribution(&answer(bound, part), &spec())
    }

    fn answer(bound: Bound, part: Lever) -> Attribution {
        let evidence = Evidence {
            rate_per_s: 10.0,
            in_flight: 7.9,
            in_flight_allowed: 8,
            slots: WorkerShares { gated: 0.42, ..WorkerShares::default() },
            gate_rule: Some(GateRule::CrawlDelay),
            repository_latency_ns: 467e6,
            station: None,
            cores_busy: 0.97,
            cores_taken: CoresTaken { others: 0.21, ..CoresTaken::default() },
            by_clocks: Vec::new(),
            by_replay: vec![Elasticity { lever: part, elasticity: 0.9 }],
            by_settings: Vec::new(),
            replay_error: 0.0,
            tail: 0.0,
            lag: None,
        };
        Attribution { source: "share".to_owned(), bound, evidence }
    }

    #[test]
    fn what_speaks_against_an_answer_and_what_a_setting_gives_are_said() {
        let workers = Lever::Workers(Station::Index);
        let mut of = answer(Bound::Shared(vec![workers]), workers);
        of.evidence.by_settings = vec![Elasticity { lever: workers, elasticity: 0.5 }];
        of.evidence.by_clocks = vec![NamedShare { lever: Lever::Network, share: 0.78 }];
        let said = attribution(&of, &spec());
        assert!(said.contains("With twice the workers, its rate would be 1.4 times."), "{said}");
        assert!(said.ends_with("But the clocks name the network for 78 % of the time."), "{said}");
        // What the clocks name is one of the parts, or they name it for less of the time.
        of.bound = Bound::Shared(vec![workers, Lever::Network]);
        assert_eq!(of.clocks_against(), None);
        of.bound = Bound::Shared(vec![workers]);
        of.evidence.by_clocks[0].share = 0.5;
        assert_eq!(of.clocks_against(), None);
        of.evidence.by_settings.clear();
        assert!(attribution(&of, &spec()).contains("With half the processor time, its rate would be 1.9 times."));
    }

    #[test]
    fn each_answer_has_its_sentence_with_its_figures() {
        assert_eq!(
            of(Bound::By(Lever::Cores), Lever::Cores),
            "share is bound by the processors. They are busy for 97 % of the time. Besides, other processes took 21 %. \
             Twice as fast there, its rate would be 1.9 times."
        );
        assert_eq!(
            of(Bound::By(Lever::Repository(0)), Lever::Repository(0)),
            "share is bound by the repository of share: its latency times the slots. 7.9 of 8 fetches are in flight, and each \
             waits 467 ms for its first byte. With twice the slots, its rate would be 1.9 times."
        );
        let politeness = of(Bound::By(Lever::Politeness(0)), Lever::Politeness(0));
        assert!(politeness.contains("kept back by the crawl delay for 42 % of their time"), "{politeness}");
        assert_eq!(
            of(Bound::Shared(vec![Lever::Commit, Lever::Merges]), Lever::Commit),
            "share is bound by several parts: the commit policy: index and database are made durable often; merges of index \
             segments. With half as many commits, its rate would be 1.9 times."
        );
        assert_eq!(of(Bound::Failed, Lever::Cores), "share failed: no item came. It has no rate.");
        assert_eq!(
            of(Bound::CannotTell(Doubtful::FewItems { items: 20 }), Lever::Cores),
            "What limits share is not known: 20 items are too few."
        );
    }

    #[test]
    fn what_slowing_shows_is_said_with_its_interval() {
        let measured =
            MeasuredElasticity { slowed: SlowedStation::Fetch(0), elasticity: 1.0, low: 0.7, high: 1.2, windows: 40 };
        let said = |agreement| {
            let source = "share".to_owned();
            let expected = Some(SlowedStation::Fetch(0));
            confirmation(&Confirmation { source, measured: vec![measured], agreement, expected }, &spec(), 0.1)
        };
        assert_eq!(
            said(ConfirmedBy::Agrees),
            "Slowing stations by 10 % agrees for share: effect of fetch share 1.0 (0.7 to 1.2)."
        );
        assert!(said(ConfirmedBy::TooWide).ends_with("Crawl for longer."));
        assert!(said(ConfirmedBy::NotTested).contains("does not test what is named"));
    }
}
