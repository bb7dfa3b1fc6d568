//! Every fact that is stored reads back as itself: no kind is taken for another's.

use super::*;
use crate::{
    CeilingSource, Doubt, DoubtCode, DoubtEvidence, Evidence, Fact, KernelThrottle, Limit, Rate, RateFigure, Stage,
    ThrottledQuantity, ThrottledRequests,
};
use std::collections::BTreeSet;

/// A name.
fn s(text: &str) -> String {
    text.to_owned()
}

fn levels() -> Vec<LevelFact> {
    let load = || s("random 4 KiB reads");
    let asked = Asked { asked_iops: 6_000.0, completed_iops: 5_000.0 };
    let other = KindShown::OtherSize { load: load(), counted: ThrottledQuantity::Bytes };
    let nested = KindShown::AnotherLoad { load: load(), shown: Box::new(other.clone()) };
    let plateau =
        |shown| LevelFact::Plateau { rate_iops: 5_000.0, bytes_per_s: 2e7, from_depth: 8, offered: Some(asked), shown };
    let figure = PresumedBy::RoundFigure { figure: 200.0, unit: RoundUnit::MibPerS };
    vec![
        plateau(LevelShown::Kind(nested)),
        LevelFact::LargerMoveMore { load: load(), bytes_per_s: 2e7 },
        LevelFact::NoOtherSize,
        LevelFact::BytesOfLevel { bytes_per_s: 2e7, load: load(), level_bytes_per_s: 2.1e7 },
        LevelFact::RequestsOfLevel { rate_iops: 1.0, load: load(), level_iops: 2.0, shown: Some(other) },
        LevelFact::BothDirections {
            load: load(),
            rate_iops: 1.0,
            bytes_per_s: 2.0,
            other: load(),
            other_iops: 3.0,
            other_bytes_per_s: 4.0,
        },
        LevelFact::EqualBytes {
            load: load(),
            amount: s("depth 8"),
            bytes_per_s: 1.0,
            other_bytes: 2.0,
            own_bytes: 3.0,
        },
        LevelFact::EqualRequests {
            load: load(),
            amount: s("depth 8"),
            rate_iops: 1.0,
            other_depth: 2.0,
            own_depth: 3.0,
        },
        LevelFact::ExplainsAll { rate_iops: Some(5_000.0), bytes_per_s: None },
        LevelFact::LimitOfAnother { load: load(), rate_iops: 5_000.0 },
        LevelFact::PresumedByLarger { load: load(), bytes_per_s: 2e7, next_block_bytes: 16_384 },
        LevelFact::Presumed {
            counted: ThrottledQuantity::Bytes,
            by: figure,
            others: OtherSizes::NotAtALimit,
            next_block_bytes: 1_024,
        },
        LevelFact::WholePlaces { places: 8.0 },
        LevelFact::OneDirection {
            direction: ThrottledRequests::Writes,
            rate_iops: 500.0,
            level_iops: 500.0,
            latency_ns: 1e6,
            other_latency_ns: 1e5,
            share: 0.3,
            ceiling_iops: 1_667.0,
        },
        LevelFact::VolumesAlike {
            volume: s("b"),
            devices: 4,
            own_devices: 1,
            level: RateFigure::RateIops(5_000.0),
            each: Some(LevelOnEach { level: RateFigure::BytesPerS(1e6), devices: 4 }),
            shown: DevicesAlike::OneKind,
        },
        LevelFact::NoLimitOfDevices { level: RateFigure::BytesPerS(1e6) },
    ]
}

fn waits() -> Vec<WaitingFact> {
    let takes = TakenTime { latency_ns: 6e6, from_due_ns: Some(7e6) };
    let (fewer_ns, rate_iops, served) = (1e6, 5_000.0, 5.4);
    vec![
        WaitingFact::KeptAbove { outstanding: 32.0, at_devices: 0.5, devices: vec![s("vda")] },
        WaitingFact::InBursts { median_ns: 2e4, slow_share: 0.002, slow_ns: 9.8e7 },
        WaitingFact::TakesLonger { takes, fewer_ns },
        WaitingFact::WaitsForTurn,
        WaitingFact::SteadyRate,
        WaitingFact::CompletedOnly { share: 0.5 },
        WaitingFact::Waits,
        WaitingFact::FewWait { mean_ns: 1e6, median_ns: 1e4 },
        WaitingFact::MoreForAWhile { amount: s("depth 8"), rate_iops, longest_ns: 5_000_000_000 },
        WaitingFact::HadMore { amount: s("depth 8"), rate_iops },
        WaitingFact::FewerHadMore { amount: s("depth 8"), other_iops: 6_000.0, rate_iops },
        WaitingFact::ThrottleChanged { rate_iops },
        WaitingFact::DurableEach { takes, fewer_ns, rate_iops, served },
        WaitingFact::OneAtATime { takes, fewer_ns, rate_iops },
        WaitingFact::ServedAtOnce { takes, fewer_ns, rate_iops, served },
        WaitingFact::InMemoryBelow,
    ]
}

fn loads() -> Vec<LoadFact> {
    let asked = Asked { asked_iops: 6_000.0, completed_iops: 5_000.0 };
    let at = DepthRate { depth: 4, rate_iops: 4_000.0 };
    let (share, depth, think_ns, latency_ns, rate_iops) = (0.9, 4.0, 1e6, 1e5, 5_000.0);
    vec![
        LoadFact::Offered(asked),
        LoadFact::OwnCeiling(asked),
        LoadFact::UnmetWithoutCause { share },
        LoadFact::Paced,
        LoadFact::GrowsLess,
        LoadFact::OneDepth,
        LoadFact::SingleRequests { latency_ns, rate_iops, deeper: Some(at) },
        LoadFact::GrowsWithDepth { depth: 4, latency_ns, from: at, to: at },
        LoadFact::OwnTime { depth: 4, latency_ns, rate_iops, shown: OwnTimeShown::SoManyAtOnce },
        LoadFact::TwiceAsMany { depth: 4 },
        LoadFact::Thinks { share, depth, think_ns, asked_iops: 6_000.0, rate_iops },
        LoadFact::ThinksAndWaits {
            share,
            depth,
            think_ns,
            latency_ns,
            fewer_ns: Some(1e4),
            asked_iops: 6_000.0,
            rate_iops,
        },
        LoadFact::ThinksLess { share, depth, think_ns, latency_ns, rate_iops },
        LoadFact::ThinksAtLimit { share },
        LoadFact::ShareOfTurn { turn_ns: 2e5, latency_ns },
        LoadFact::HeldItselfBack { in_flight: 0.5, depth, latency_ns, rate_iops },
        LoadFact::Flushes { share, flushes_per_s: 100.0, latency_ns },
        LoadFact::FlushesCounted { share, flushes_per_s: 100.0 },
        LoadFact::Amplified { written_iops: 400.0, asked_iops: 200.0, times: 2.0 },
        LoadFact::NullTarget,
        LoadFact::Failed { detail: s("read at 0") },
        LoadFact::Doubted { doubt: Doubt { code: DoubtCode::CachedReads, seen: DoubtEvidence::PageCacheAsked } },
    ]
}

fn others() -> Vec<Fact> {
    let source = || CeilingSource::from("as sold");
    let takes = TakenTime { latency_ns: 6e6, from_due_ns: None };
    let throttle = KernelThrottle {
        requests: ThrottledRequests::Reads,
        counts: ThrottledQuantity::Requests,
        per_s: 298,
        group: s("/db"),
        file: s("/sys/fs/cgroup/db/io.max"),
        lifted_by: s("7:0 riops=max"),
    };
    let at = WaitPlace { stage: Stage::Disk, counted: ThrottledQuantity::Requests, credits_spent: true };
    let most = WaitedShare { at, share: 0.8, burst: Some(BurstSide::AfterNs(20_000_000_000)) };
    let total = HostsTotal { hosts: 4, total: Rate::BytesPerS(2e8) };
    let gains = vec![HostsGain { hosts_more: 4, share: 0.1, share_low: Some(0.0), share_high: None }];
    let beside = || vec![LoadRate { load: s("log"), rate_iops: Some(40.0) }];
    let by_itself = LimitShown::ByItself { load: s("random read 4 KiB") };
    vec![
        CourseFact::BurstSpent {
            at_ns: 1,
            before_iops: 3.0,
            after_iops: 1.0,
            earlier: vec![FallAt { before_iops: 9.0, at_ns: 1 }],
        }
        .into(),
        CourseFact::FellFrom { at_ns: 1, before_iops: 3.0 }.into(),
        CourseFact::BeganHigher { at_ns: 1, before_iops: 3.0, after_iops: 1.0 }.into(),
        CourseFact::Rose { levels: vec![RateHeld { rate_iops: 1.0, length_ns: 2 }] }.into(),
        CourseFact::StoodStill { share: 0.2, lacks_share: Some(0.1) }.into(),
        CourseFact::GotFaster { trials: 5, first_iops: 1.0, last_iops: 2.0, share: 1.0 }.into(),
        MachineFact::CpuBusy { busy_share: 0.98, tool_share: None }.into(),
        MachineFact::NoCpu { share: 0.6 }.into(),
        MachineFact::CpuTaken { share: 0.3 }.into(),
        MachineFact::CpuBusyMeanwhile { busy_share: 0.98, tool_share: 0.1, depths: 3 }.into(),
        MachineFact::PageCacheTook { requests: ThrottledRequests::Writes, reached_share: 0.1 }.into(),
        MachineFact::InPageCache { share: 1.0 }.into(),
        BesideFact::Others { share: 0.4, others_iops: 1.0, rate_iops: 2.0, process: Some(s("fio")) }.into(),
        BesideFact::OneLevelTogether { rate_iops: 3.0 }.into(),
        BesideFact::SameLimit { rate_iops: 3.0 }.into(),
        BesideFact::OthersHide.into(),
        BesideFact::Together {
            share: 0.5,
            limit_iops: 5_000.0,
            beside: vec![LoadShare { load: s("log"), share: 0.5 }],
            all_share: 1.0,
            limit: by_itself,
        }
        .into(),
        BesideFact::SingleBeside { latency_ns: 1e6, beside: beside() }.into(),
        BesideFact::SumAsAlone { sum_iops: 2e3, alone_iops: 2e3, beside: beside() }.into(),
        BesideFact::RanBeside { beside: beside() }.into(),
        HostsFact::HostsHadAll { last: total, asked_each: total.total }.into(),
        HostsFact::HostsFellShort {
            asked_each: total.total,
            most: total.total,
            kept: total,
            short: total,
            last: total,
        }
        .into(),
        HostsFact::HostsLevelOff { at: total, most: total.total, has_all: true, first: total, last: total, gains }
            .into(),
        HostsFact::HostsAddUp { first: total, last: total, efficiency: 1.0, level: None }.into(),
        HostsFact::HostsHaveLess { first: total, last: total, efficiency: 0.5 }.into(),
        HostsFact::HostsUnclear { last: total }.into(),
        DeclaredFact::Reaches {
            share: 0.9,
            ceiling_iops: 5_000.0,
            source: source(),
            waits: Some(WaitsByDeclared::SingleOnes { takes, single_ns: 1e6 }),
        }
        .into(),
        DeclaredFact::Surpassed {
            limit: Limit::DiskIops,
            ceiling_iops: 5_000.0,
            source: source(),
            share: 2.5,
            lower: vec![DeclaredLimit { limit: Limit::VmCachedIops, ceiling_iops: 1_200.0 }],
        }
        .into(),
        DeclaredFact::BelowAll { limit: Limit::DiskIops, ceiling_iops: 5_000.0, source: source() }.into(),
        DeclaredFact::Exceeded { limit: Limit::DiskIops, share: 0.8, devices: vec![s("nvme1n1")] }.into(),
        DeclaredFact::Throttle { share: 1.0, device: s("vda"), devices: 2, throttle, through_per_s: Some(290) }.into(),
        ModelFact::Waited {
            most,
            each: WaitedEach::Of { waited_ns: 1e6, latency_ns: 2e6 },
            source: Some(source()),
            beside: vec![most],
        }
        .into(),
        ModelFact::PassesByHead { source: source() }.into(),
        ModelFact::ModelledLatency {
            depth: Some(1),
            latency_ns: 1e6,
            rate_iops: 1_000.0,
            waited: WaitedBeside::Share(0.1),
        }
        .into(),
        ModelFact::VolumesWaited { volumes: vec![s("b")] }.into(),
        ModelFact::LimitShared { own_share: 0.5, others: vec![LoadShare { load: s("b"), share: 0.25 }] }.into(),
        ModelFact::DrawsDiffer { trials: 5, others: vec![LimitDraws { limit: Limit::Latency, trials: 2 }] }.into(),
        ModelFact::Account {
            reason: Some(AccountReason::Faults),
            shares: vec![TimeHeld { by: s("disk-iops"), share: 0.8 }],
        }
        .into(),
        ModelFact::NothingAnswered { lasting_ns: 3, from_ns: 3, times: 2 }.into(),
    ]
}

#[test]
fn every_fact_reads_back_as_itself() {
    let facts: Vec<Fact> = (levels().into_iter().map(Fact::from))
        .chain(waits().into_iter().map(Fact::from))
        .chain(loads().into_iter().map(Fact::from))
        .chain(others())
        .collect();
    let mut kinds = BTreeSet::new();
    for fact in &facts {
        let text = serde_json::to_value(fact).unwrap();
        assert!(kinds.insert(text["kind"].as_str().unwrap().to_owned()), "two of a kind: {text}");
    }
    let seen = Evidence::of(facts);
    let again: Evidence = serde_json::from_str(&serde_json::to_string(&seen).unwrap()).unwrap();
    assert_eq!(again, seen);
}
