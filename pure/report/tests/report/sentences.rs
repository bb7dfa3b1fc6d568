//! What is said of each kind of fact, word by word.

use loadline_record::{
    AccountReason, Asked, BesideFact, BurstSide, CourseFact, DeclaredFact, DeclaredLimit, DepthRate, DevicesAlike,
    Evidence, Fact, FallAt, KernelThrottle, KindShown, LevelFact, LevelOnEach, LevelShown, Limit, LimitDraws,
    LimitShown, LoadFact, LoadRate, LoadShare, MachineFact, ModelFact, OtherSizes, OwnTimeShown, PresumedBy,
    RateFigure, RateHeld, RoundUnit, Stage, TakenTime, ThrottledQuantity, ThrottledRequests, TimeHeld, WaitPlace,
    WaitedBeside, WaitedEach, WaitedShare, WaitingFact, WaitsByDeclared,
};
use loadline_report::words;

#[track_caller]
fn says(fact: impl Into<Fact>, sentence: &str) {
    assert_eq!(words::evidence(&Evidence::from(fact.into())), sentence);
}

fn text(text: &str) -> String {
    text.to_owned()
}

#[test]
fn of_levels() {
    let plateau =
        |offered, shown| LevelFact::Plateau { rate_iops: 5_001.0, bytes_per_s: 20.5e6, from_depth: 8, offered, shown };
    let as_many =
        KindShown::OtherSize { load: text("sequential 1 MiB requests"), counted: ThrottledQuantity::Requests };
    says(
        plateau(None, LevelShown::Kind(as_many.clone())),
        "The rate levels off at 5,001 IOPS (20.5 MB/s) from 8 outstanding on; sequential 1 MiB requests reach as many requests a second.",
    );
    let too = KindShown::AnotherLoad { load: text("random 4 KiB reads"), shown: Box::new(as_many) };
    says(
        plateau(Some(Asked { asked_iops: 5_500.0, completed_iops: 4_084.0 }), LevelShown::Kind(too)),
        "Of 5,500 requests a second offered, 4,084 were completed; the rate levels off at 5,001 IOPS (20.5 MB/s) from 8 outstanding on; \
         random 4 KiB reads level off there too, and sequential 1 MiB requests reach as many requests a second.",
    );
    let both = Evidence::from(plateau(None, LevelShown::Alone)).and(LevelFact::Presumed {
        counted: ThrottledQuantity::Bytes,
        by: PresumedBy::RoundFigure { figure: 113.0, unit: RoundUnit::MibPerS },
        others: OtherSizes::NotAtALimit,
        next_block_bytes: 16_384,
    });
    assert_eq!(
        words::evidence(&both),
        "The rate levels off at 5,001 IOPS (20.5 MB/s) from 8 outstanding on. Presumably bytes are counted and not requests, by the \
         round figure of 113 MiB/s: no other block size was measured at a limit. To be sure, test 16 KiB too."
    );
    says(
        LevelFact::ExplainsAll { rate_iops: Some(5_000.0), bytes_per_s: Some(200e6) },
        "5,000 requests and 200 MB a second explain all loads of this kind and no other pair does.",
    );
    says(
        LevelFact::EqualBytes {
            load: text("64 KiB requests"),
            amount: text("depth 8"),
            bytes_per_s: 131e6,
            other_bytes: 524_288.0,
            own_bytes: 131_072.0,
        },
        "64 KiB requests (depth 8) have as many bytes a second (131 MB/s), with 512 KiB outstanding at once and 128 KiB here: requests \
         that wait for nothing would not.",
    );
    says(
        LevelFact::OneDirection {
            direction: ThrottledRequests::Writes,
            rate_iops: 500.0,
            level_iops: 500.0,
            latency_ns: 2e6,
            other_latency_ns: 7e4,
            share: 0.3,
            ceiling_iops: 1_667.0,
        },
        "Its writes stop at 500 a second, where writes alone level off (500 IOPS), and take 2.00 ms on average; reads take 70.0 us and \
         wait for nothing of the kind. So the limit of writes binds: at 30 % writes it lets 1,667 requests of this mix through, and \
         reads by themselves could have more.",
    );
    says(
        LevelFact::VolumesAlike {
            volume: text("many"),
            devices: 4,
            own_devices: 1,
            level: RateFigure::RateIops(5_000.0),
            each: Some(LevelOnEach { level: RateFigure::RateIops(1_250.0), devices: 4 }),
            shown: DevicesAlike::Unknown,
        },
        "Volume many with 4 devices levels off at the same 5,000 IOPS as this one with 1: what they have in common stops them, not their \
         devices, unless limits of single devices happen to add up to as much (1,250 IOPS on each of 4). To be sure, load \
         both at once.",
    );
}

#[test]
fn of_requests_that_wait() {
    let takes = TakenTime { latency_ns: 356e6, from_due_ns: None };
    says(
        WaitingFact::TakesLonger { takes, fewer_ns: 9.82e6 },
        "Its requests take 356 ms, and 9.82 ms where fewer are outstanding.",
    );
    says(
        WaitingFact::KeptAbove { outstanding: 32.0, at_devices: 0.1, devices: vec![text("vda")] },
        "Requests are kept above the device, by a throttle of the kernel (cgroup), a queue limit or the file system: of 32 outstanding \
         vda had 0.10 on average.",
    );
    says(
        WaitingFact::InBursts { median_ns: 20.1e3, slow_share: 0.002, slow_ns: 98e6 },
        "Half of its requests take at most 20.1 us, 0.2 % take about 98.0 ms, and hardly any take a time between these: they are let through in bursts, \
         as a throttle does.",
    );
    says(
        WaitingFact::MoreForAWhile {
            amount: text("6,000 arrivals a second"),
            rate_iops: 6e3,
            longest_ns: 4_000_000_000,
        },
        "At 6,000 arrivals a second there were 6,000 a second, for 4 s: no more than what a token bucket of a second saves up.",
    );
    let (from_due_ns, fewer_ns, rate_iops) = (Some(500e6), 1e6, 5_000.0);
    says(
        WaitingFact::ServedAtOnce { takes: TakenTime { from_due_ns, ..takes }, fewer_ns, rate_iops, served: 12.07 },
        "Its requests take 356 ms from their issue on (500 ms from when they were due), and 1.00 ms where fewer are outstanding: 5,000 \
         IOPS are what 12 served at once make. Nothing shows that requests or bytes are limited; more depth, and other block sizes, \
         would show whether they are.",
    );
}

#[test]
fn of_what_a_load_asks_for() {
    let (share, depth, think_ns, latency_ns, rate_iops) = (0.75, 8.0, 3e6, 1e6, 2_000.0);
    says(
        LoadFact::ThinksAndWaits { share, depth, think_ns, latency_ns, fewer_ns: None, asked_iops: 2e3, rate_iops },
        "Think time takes 75 % of the load's time: 8 outstanding, each 3.00 ms after the answer before it and answered after 1.00 ms, \
         come to 2,000 requests a second at most, and 2,000 were completed; no limit that was seen lies there.",
    );
    says(
        LoadFact::SingleRequests { latency_ns, rate_iops: 1e3, deeper: Some(DepthRate { depth: 4, rate_iops: 4e3 }) },
        "1 outstanding at 1.00 ms each make 1,000 IOPS; 4 outstanding make 4,000.",
    );
    let own = LoadFact::OwnTime { depth: 4, latency_ns, rate_iops: 4e3, shown: OwnTimeShown::NothingWaits };
    assert_eq!(
        words::evidence(&Evidence::from(own).and(LoadFact::TwiceAsMany { depth: 4 })),
        "4 outstanding at 1.00 ms each make 4,000 IOPS, and nothing shows that requests wait for more than the device's own time. Twice \
         4 outstanding would make twice as many, if that is so."
    );
    says(
        LoadFact::Amplified { written_iops: 400.0, asked_iops: 200.0, times: 2.0 },
        "The devices wrote 400 requests a second for 200 that were asked, 2.0 for each: the file system's journal and metadata are the \
         others.",
    );
}

#[test]
fn of_the_course_of_a_rate_and_of_the_machine() {
    let earlier = vec![FallAt { before_iops: 9e3, at_ns: 5_000_000_000 }];
    says(
        CourseFact::BurstSpent { at_ns: 25_000_000_000, before_iops: 3e3, after_iops: 500.0, earlier },
        "After 25 s of load the rate fell from 3,000 to 500 IOPS and stayed there: what was saved up was spent. It had been 9,000 before \
         5 s.",
    );
    let held = |rate_iops, length_ns| RateHeld { rate_iops, length_ns };
    says(
        CourseFact::Rose { levels: vec![held(800.0, 6_500_000_000), held(4e3, 7_500_000_000)] },
        "Its rate rose while it was measured: 800 IOPS for 6.5 s and 4,000 IOPS for 7.5 s; the last level counts.",
    );
    says(
        CourseFact::StoodStill { share: 0.078, lacks_share: Some(0.072) },
        "The device stood still for 7.8 % of the time (finding `stalls`), and the load lacks 7.2 % of what it asks for.",
    );
    says(
        MachineFact::CpuBusy { busy_share: 0.98, tool_share: None },
        "The machine's CPUs were 98 % busy, an unknown part of it with the tool itself; no load thread was at its limit.",
    );
    says(
        MachineFact::PageCacheTook { requests: ThrottledRequests::Reads, reached_share: 0.1 },
        "Of the bytes that reads asked for, 10 % reached the devices: the page cache took the others.",
    );
}

#[test]
fn of_others_beside_a_load() {
    says(
        BesideFact::Others { share: 0.4, others_iops: 60e3, rate_iops: 90e3, process: Some(text("fio")) },
        "Others took 40 % of what the devices did, 60,000 requests a second beside 90,000 of this load (the busiest other process was \
         fio).",
    );
    says(
        BesideFact::Together {
            share: 0.5,
            limit_iops: 5e3,
            beside: vec![LoadShare { load: text("log"), share: 0.5 }],
            all_share: 1.0,
            limit: LimitShown::Declared("as sold".into()),
        },
        "It took 50 % of 5,000 IOPS, beside it log 50 %: 100 % in all: as sold.",
    );
    says(
        BesideFact::RanBeside { beside: vec![LoadRate { load: text("log"), rate_iops: Some(40.0) }] },
        "Beside it ran log at 40 a second. Which limit they share does not show in their figures alone: measure each by itself as well.",
    );
}

#[test]
fn of_limits_that_are_known() {
    let source = || "as sold".into();
    let takes = TakenTime { latency_ns: 6.4e6, from_due_ns: None };
    let waits = Some(WaitsByDeclared::SingleOnes { takes, single_ns: 1e6 });
    says(
        DeclaredFact::Reaches { share: 0.83, ceiling_iops: 6e3, source: source(), waits },
        "It comes to 83 % of 6,000 IOPS, and its requests take 6.40 ms and single ones 1.00 ms, so that not every part of the storage is \
         always asked: as sold.",
    );
    let lower = vec![DeclaredLimit { limit: Limit::VmCachedIops, ceiling_iops: 1_200.0 }];
    says(
        DeclaredFact::Surpassed {
            limit: Limit::VmUncachedIops,
            ceiling_iops: 2e3,
            source: source(),
            share: 2.5,
            lower,
        },
        "A declared limit does not hold here: vm-uncached-iops at 2,000 IOPS (as sold), of which it had 250 %. Nor does what is lower: \
         vm-cached-iops at 1,200 IOPS.",
    );
    says(
        DeclaredFact::BelowAll { limit: Limit::DiskIops, ceiling_iops: 9e3, source: source() },
        "It is below every ceiling of the environment, of which disk-iops is the lowest (9,000 IOPS: as sold).",
    );
    says(
        DeclaredFact::Exceeded { limit: Limit::DiskIops, share: 0.8, devices: vec![text("nvme2n1")] },
        "By the device's own counters (nvme2n1) the load asked for more requests per second than the volume allows during 80 % of the \
         time.",
    );
    let throttle = KernelThrottle {
        requests: ThrottledRequests::Reads,
        counts: ThrottledQuantity::Requests,
        per_s: 298,
        group: text("/db"),
        file: text("/sys/fs/cgroup/db/io.max"),
        lifted_by: text("7:0 riops=max"),
    };
    says(
        DeclaredFact::Throttle { share: 1.0, device: text("vda"), devices: 1, throttle, through_per_s: Some(290) },
        "The load had 100 % of its limit: a kernel throttle in control group /db limits vda to 298 reads/s, of which it lets 290 \
         through: whole ones in each tenth of a second.",
    );
}

#[test]
fn of_what_a_model_knows() {
    let at = |stage, credits_spent| WaitPlace { stage, counted: ThrottledQuantity::Requests, credits_spent };
    let most = WaitedShare { at: at(Stage::Disk, true), share: 0.8, burst: Some(BurstSide::AfterNs(20_000_000_000)) };
    let other =
        WaitedShare { at: at(Stage::VmUncached, false), share: 0.2, burst: Some(BurstSide::BeforeNs(20_000_000_000)) };
    says(
        ModelFact::Waited {
            most,
            each: WaitedEach::Of { waited_ns: 300e6, latency_ns: 345e6 },
            source: Some("azure/premium-p10".into()),
            beside: vec![other],
        },
        "Requests waited for the disk's requests per second, its burst credits being spent after the first 20 s: 80 % of all waiting at \
         limits, 300 ms for each request, which takes 345 ms in all (azure/premium-p10). Besides, 20 % of it was for the VM's uncached \
         requests per second in the first 20 s.",
    );
    says(
        ModelFact::Waited {
            most: WaitedShare { burst: None, share: 1.0, ..other },
            each: WaitedEach::BeyondTheEnd { depth: 16_384, rate_iops: 3e3 },
            source: None,
            beside: Vec::new(),
        },
        "Requests waited for the VM's uncached requests per second: 100 % of all waiting at limits, most of it by requests that were not \
         answered before the end: the run is shorter than its queue takes (16,384 outstanding at 3,000 a second).",
    );
    says(
        ModelFact::ModelledLatency {
            depth: Some(1),
            latency_ns: 1e6,
            rate_iops: 1e3,
            waited: WaitedBeside::Share(0.1),
        },
        "1 outstanding at 1.00 ms each make 1,000 IOPS; 10 % of that time was waiting at limits.",
    );
    says(ModelFact::VolumesWaited { volumes: vec![text("b")] }, "b, loaded at the same time, waited for it too.");
    let others = vec![LoadShare { load: text("log"), share: 0.5 }];
    says(ModelFact::LimitShared { own_share: 0.4, others }, "It took 40 % of this limit, and beside it log 50 %.");
    says(
        ModelFact::DrawsDiffer { trials: 3, others: vec![LimitDraws { limit: Limit::VmUncachedIops, trials: 1 }] },
        "Of 3 trials over what is uncertain it was vm-uncached-iops in 1.",
    );
    let shares = vec![TimeHeld { by: text("idle"), share: 0.8 }, TimeHeld { by: text("latency"), share: 0.004 }];
    says(
        ModelFact::Account { reason: Some(AccountReason::LittleAsked), shares },
        "By what its requests waited for: for half of its time or more nothing was asked for; its time went to idle 80 %.",
    );
}
