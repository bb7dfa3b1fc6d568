//! 16 situations, each with 50 worlds that differ in everything that must not matter; and what holds in any world.

use super::*;
use proptest::prelude::*;

const SEEDS: u64 = 50;

/// Draws by a fixed rule.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
    fn is(&mut self) -> bool {
        self.below(2) == 1
    }
    fn word(&mut self) -> String {
        format!("w{}", self.below(1_000_000))
    }
}

/// A world in which everything is well: the disk survived generation `generation`.
fn survived(draws: &mut Draws) -> (Observations, u64) {
    let generation = 1 + draws.below(1_000);
    let marker = Marker {
        source: "fast".into(),
        claim: draws.word(),
        file_system: draws.word(),
        device: draws.word(),
        machine: draws.word(),
        generation,
        begun: generation + draws.below(2),
        repository: if draws.is() { "r".into() } else { String::new() },
        state: MarkedState::Ready,
        restores: 0,
    };
    let claim = marker.claim.clone();
    // The twin is written first or last; machines and devices may have been renamed in between.
    let twin = Marker { device: draws.word(), machine: draws.word(), ..marker.clone() };
    let named = draws.is().then_some(true);
    let mount = MountSeen {
        is_root_device: false,
        is_named_device: named,
        file_system: marker.file_system.clone(),
        is_read_only: false,
        marker: MarkerSeen::Whole(marker),
        others: draws.below(30) as usize,
        room: Bytes::gib(100 + draws.below(100)),
    };
    let seen = Observations {
        source: "fast".into(),
        may_format: named.is_some() && draws.is(),
        has_contents: true,
        device: if named.is_some() { DeviceSeen::FileSystem(draws.word()) } else { DeviceSeen::NotNamed },
        path: PathSeen::Mounted(mount),
        twin: if draws.is() { MarkerSeen::Whole(twin) } else { MarkerSeen::Absent },
        making: draws.is().then(|| "of an earlier start".to_owned()),
        destination: holds(generation, Bytes::gib(draws.below(100)), &claim),
    };
    (seen, generation)
}

fn mount(seen: &mut Observations) -> &mut MountSeen {
    match &mut seen.path {
        PathSeen::Mounted(mount) => mount,
        other => panic!("{other:?}"),
    }
}
fn marker(seen: &mut Observations) -> &mut Marker {
    match &mut mount(seen).marker {
        MarkerSeen::Whole(marker) => marker,
        other => panic!("{other:?}"),
    }
}
fn holds(generation: u64, room: Bytes, claim: &str) -> DestinationSeen {
    DestinationSeen::Holds { generation, room, claim: claim.into(), repository: "r".into() }
}
fn unused() -> DestinationSeen {
    DestinationSeen::Unused { repository: String::new() }
}
/// The disk was lost, and came back with an empty file system.
fn emptied(seen: &mut Observations, draws: &mut Draws) {
    let mount = mount(seen);
    mount.marker = MarkerSeen::Absent;
    mount.others = 0;
    mount.file_system = draws.word();
}

type Situation = fn(&mut Observations, &mut Draws, u64) -> StartVerdict;

const SITUATIONS: [(&str, Situation); 16] = [
    ("nothing is mounted", |seen, draws, _| {
        seen.path = if draws.is() { PathSeen::Missing } else { PathSeen::NotMounted };
        let folder = if seen.path == PathSeen::Missing { Awaited::Folder } else { Awaited::Mounted };
        seen.device = DeviceSeen::NotNamed;
        seen.may_format = false;
        StartVerdict::Wait(folder)
    }),
    ("another device is mounted, or the system's own", |seen, draws, _| {
        if draws.is() {
            mount(seen).is_root_device = true;
            return StartVerdict::Refuse(StartRefusal::RootDevice);
        }
        mount(seen).is_named_device = Some(false);
        if draws.is() {
            emptied(seen, draws);
        }
        StartVerdict::Refuse(StartRefusal::OtherDevice)
    }),
    ("the named device is raw", |seen, draws, _| {
        seen.path = PathSeen::NotMounted;
        seen.device = DeviceSeen::Raw;
        seen.may_format = draws.is();
        if seen.may_format { StartVerdict::Format } else { StartVerdict::Wait(Awaited::Mounted) }
    }),
    ("the file system is blank", |seen, draws, generation| {
        emptied(seen, draws);
        if draws.below(3) == 0 {
            seen.destination = unused();
            seen.twin = MarkerSeen::Absent;
            return StartVerdict::Begin;
        }
        StartVerdict::Restore(generation)
    }),
    ("files of others are there", |seen, draws, _| {
        emptied(seen, draws);
        mount(seen).others = 1 + draws.below(9) as usize;
        StartVerdict::Refuse(StartRefusal::OtherEntries(mount(seen).others))
    }),
    ("an old copy of the disk, or of another shelter", |seen, draws, generation| match draws.below(3) {
        0 => {
            marker(seen).source = "other".into();
            StartVerdict::Refuse(StartRefusal::OtherShelter("other".into()))
        }
        1 => {
            mount(seen).file_system = "copied-to".into();
            StartVerdict::Refuse(StartRefusal::CopiedMarker)
        }
        _ => {
            // Newer than anything it began, or what it began and another machine ended.
            let begun = marker(seen).begun;
            let is_ended_by_other = begun > generation && draws.is();
            let newer = if is_ended_by_other { begun } else { begun + 1 + draws.below(50) };
            seen.twin = MarkerSeen::Absent;
            seen.destination = holds(newer, Bytes::gib(1), "of another machine");
            StartVerdict::Refuse(StartRefusal::OldCopy { disk: generation, destination: newer })
        }
    }),
    ("a restore was interrupted", |seen, draws, generation| {
        marker(seen).state = MarkedState::Restoring;
        marker(seen).begun = generation;
        if let MarkerSeen::Whole(twin) = &mut seen.twin {
            twin.state = if draws.is() { MarkedState::Restoring } else { MarkedState::Ready };
        }
        StartVerdict::Resume(generation)
    }),
    ("the device has another name after the boot", |seen, draws, generation| {
        // Names are no part of the observation: it is recognised, whether it survived or not.
        mount(seen).is_named_device = Some(true);
        seen.device = DeviceSeen::FileSystem(draws.word());
        if draws.is() {
            emptied(seen, draws);
            return StartVerdict::Restore(generation);
        }
        marker(seen).device = draws.word();
        StartVerdict::Survived
    }),
    ("the device or its mount comes late", |seen, draws, _| {
        seen.path = PathSeen::NotMounted;
        seen.device = if draws.is() { DeviceSeen::Missing } else { DeviceSeen::FileSystem(draws.word()) };
        seen.may_format = seen.device == DeviceSeen::Missing && draws.is();
        let device = seen.device == DeviceSeen::Missing;
        StartVerdict::Wait(if device { Awaited::Device } else { Awaited::Mounted })
    }),
    ("the file system is read-only", |seen, draws, _| {
        if draws.is() {
            emptied(seen, draws);
        }
        mount(seen).is_read_only = true;
        StartVerdict::Refuse(StartRefusal::ReadOnly)
    }),
    ("the disk is too small", |seen, draws, generation| {
        emptied(seen, draws);
        let (wanted, room) = (Bytes::gib(500), Bytes::gib(1 + draws.below(499)));
        mount(seen).room = room;
        seen.destination = holds(generation, wanted, "any");
        StartVerdict::Refuse(StartRefusal::TooSmall { wanted, room })
    }),
    ("the marker is torn or cannot be read", |seen, draws, _| {
        if draws.is() {
            mount(seen).marker = MarkerSeen::Torn;
            if matches!(seen.twin, MarkerSeen::Whole(_)) && draws.is() {
                seen.twin = MarkerSeen::Torn;
                return StartVerdict::Refuse(StartRefusal::TornTwin);
            }
            return StartVerdict::Refuse(StartRefusal::TornMarker);
        }
        mount(seen).marker = MarkerSeen::Unreadable;
        StartVerdict::Refuse(StartRefusal::UnreadableMarker)
    }),
    ("disk and state folder have markers of two disks", |seen, draws, _| {
        let mut twin = marker(seen).clone();
        twin.claim = "another".into();
        twin.generation = draws.below(2_000);
        seen.twin = MarkerSeen::Whole(twin);
        StartVerdict::Refuse(StartRefusal::TwoDisks)
    }),
    ("the destination lost what it acknowledged, or is not mounted", |seen, draws, generation| {
        let left = draws.below(generation);
        seen.destination = if left == 0 { unused() } else { holds(left, Bytes::gib(1), "any") };
        if draws.is() {
            // The disk was lost too: the twin remembers.
            seen.twin = MarkerSeen::Whole(marker(seen).clone());
            emptied(seen, draws);
        }
        StartVerdict::Refuse(StartRefusal::DestinationOlder { disk: generation, destination: left })
    }),
    ("another repository is mounted in the destination's place", |seen, draws, generation| {
        marker(seen).repository = "r".into();
        let claim = marker(seen).claim.clone();
        seen.destination = DestinationSeen::Holds { generation, room: Bytes::ZERO, claim, repository: "s".into() };
        seen.twin = MarkerSeen::Whole(marker(seen).clone());
        if draws.is() {
            emptied(seen, draws);
        }
        StartVerdict::Refuse(StartRefusal::OtherRepository { disk: generation })
    }),
    ("a start was killed while it made the file system, or before it mounted it", |seen, draws, _| {
        seen.path = PathSeen::NotMounted;
        seen.may_format = true;
        seen.making = Some("made".into());
        if draws.is() {
            seen.device = DeviceSeen::Unrecognised;
            return StartVerdict::Format;
        }
        seen.device = DeviceSeen::FileSystem("made".into());
        StartVerdict::Mount
    }),
];

#[test]
fn each_of_800_starts_has_the_right_verdict() {
    for (index, (name, situation)) in SITUATIONS.iter().enumerate() {
        for seed in 0..SEEDS {
            let mut draws = Draws(seed * 1_000 + index as u64);
            draws.below(2);
            let (mut seen, generation) = survived(&mut draws);
            let expected = situation(&mut seen, &mut draws, generation);
            assert_eq!(verdict(&seen), expected, "{name}, seed {seed}: {seen:#?}");
        }
    }
}

#[test]
fn a_disk_that_survived_goes_on() {
    for seed in 0..SEEDS {
        let (mut seen, _) = survived(&mut Draws(seed));
        assert_eq!(verdict(&seen), StartVerdict::Survived);
        seen.twin = MarkerSeen::Whole(marker(&mut seen).clone());
        seen.destination = DestinationSeen::Unreachable("no route".into());
        assert_eq!(verdict(&seen), StartVerdict::Survived, "it does not wait for its destination");
        seen.twin = MarkerSeen::Absent;
        assert!(matches!(verdict(&seen), StartVerdict::Wait(Awaited::Destination(_))));
        emptied(&mut seen, &mut Draws(seed));
        assert!(matches!(verdict(&seen), StartVerdict::Wait(Awaited::Destination(_))));
        seen.destination = DestinationSeen::Foreign("b".into());
        assert_eq!(verdict(&seen), StartVerdict::Refuse(StartRefusal::OtherDestination("b".into())));
    }
}

#[test]
fn a_device_with_our_file_system_is_mounted_and_any_other_is_let_be() {
    let (mut seen, _) = survived(&mut Draws(1));
    let twin = marker(&mut seen).clone();
    let ours = twin.file_system.clone();
    seen.twin = MarkerSeen::Whole(twin);
    seen.path = PathSeen::NotMounted;
    seen.may_format = true;
    seen.making = None;
    for (device, expected) in [
        (DeviceSeen::FileSystem(ours), StartVerdict::Mount),
        (
            DeviceSeen::FileSystem("theirs".into()),
            StartVerdict::Refuse(StartRefusal::DeviceNotRaw("a file system, theirs".into())),
        ),
        (DeviceSeen::Foreign("LUKS".into()), StartVerdict::Refuse(StartRefusal::DeviceNotRaw("LUKS".into()))),
        (DeviceSeen::InUse("swap".into()), StartVerdict::Refuse(StartRefusal::DeviceInUse("swap".into()))),
        (DeviceSeen::Unreadable, StartVerdict::Refuse(StartRefusal::DeviceUnreadable)),
        (DeviceSeen::Several, StartVerdict::Refuse(StartRefusal::SeveralDevices)),
        (
            DeviceSeen::Unrecognised,
            StartVerdict::Refuse(StartRefusal::DeviceNotRaw("something that is not recognised".into())),
        ),
        (DeviceSeen::Raw, StartVerdict::Format),
    ] {
        seen.device = device;
        assert_eq!(verdict(&seen), expected, "{:?}", seen.device);
    }
    seen.destination = unused();
    assert!(
        matches!(verdict(&seen), StartVerdict::Refuse(StartRefusal::DestinationOlder { .. })),
        "nothing is formatted"
    );
}

fn any_marker() -> impl Strategy<Value = MarkerSeen> {
    let whole = (0..2_u8, 0..2_u8, 0..2_u8, 0..4_u64, 0..3_u64, any::<bool>()).prop_map(
        |(source, claim, fs, generation, more, ready)| {
            MarkerSeen::Whole(Marker {
                source: if source == 0 { "fast".into() } else { "other".into() },
                claim: format!("c{claim}"),
                file_system: format!("u{fs}"),
                device: String::new(),
                machine: String::new(),
                generation,
                begun: generation + more,
                repository: if more == 0 { "r".into() } else { String::new() },
                state: if ready { MarkedState::Ready } else { MarkedState::Restoring },
                restores: 0,
            })
        },
    );
    prop_oneof![
        1 => Just(MarkerSeen::Absent), 1 => Just(MarkerSeen::Torn), 1 => Just(MarkerSeen::Unreadable), 5 => whole
    ]
}

fn any_world() -> impl Strategy<Value = Observations> {
    let mount = (any::<[bool; 3]>(), prop::option::of(any::<bool>()), any_marker(), 0..3_usize, 0..4_u64, 0..2_u8)
        .prop_map(|([root, read_only, _], named, marker, others, room, fs)| {
            PathSeen::Mounted(MountSeen {
                is_root_device: root,
                is_named_device: named,
                file_system: format!("u{fs}"),
                is_read_only: read_only,
                marker,
                others,
                room: Bytes::gib(room),
            })
        });
    let path = prop_oneof![1 => Just(PathSeen::Missing), 1 => Just(PathSeen::NotMounted), 4 => mount];
    let device = prop::sample::select(vec![
        DeviceSeen::NotNamed,
        DeviceSeen::Missing,
        DeviceSeen::Several,
        DeviceSeen::InUse("x".into()),
        DeviceSeen::Unreadable,
        DeviceSeen::Raw,
        DeviceSeen::FileSystem("u0".into()),
        DeviceSeen::Foreign("x".into()),
        DeviceSeen::Unrecognised,
    ]);
    let destination = prop_oneof![
        Just(DestinationSeen::NotWanted),
        Just(DestinationSeen::Unreachable("x".into())),
        Just(unused()),
        Just(DestinationSeen::Foreign("x".into())),
        (1..5_u64, 0..4_u64).prop_map(|(generation, gib)| holds(
            generation,
            Bytes::gib(gib),
            if gib % 2 == 0 { "c0" } else { "c1" }
        )),
    ];
    (path, device, any_marker(), destination, any::<[bool; 3]>()).prop_map(
        |(path, device, twin, destination, [may_format, has_contents, makes])| Observations {
            source: "fast".into(),
            may_format,
            has_contents,
            path,
            device,
            twin,
            making: makes.then(|| "u0".to_owned()),
            destination,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn in_no_world_is_anything_written_where_it_must_not_be(seen in any_world()) {
        let verdict = verdict(&seen);
        if !verdict.writes() {
            return Ok(());
        }
        match &seen.path {
            PathSeen::Mounted(mount) => {
                prop_assert!(!mount.is_root_device && !mount.is_read_only && mount.is_named_device != Some(false));
                let blank = mount.marker == MarkerSeen::Absent && mount.others == 0;
                let ours = matches!(&mount.marker, MarkerSeen::Whole(marker) if marker.source == "fast"
                    && marker.file_system == mount.file_system && marker.state == MarkedState::Restoring);
                match &verdict {
                    StartVerdict::Begin | StartVerdict::Restore(_) => prop_assert!(blank),
                    StartVerdict::Resume(_) => prop_assert!(ours),
                    other => prop_assert!(false, "{other:?} on what is mounted"),
                }
            }
            _ => match &verdict {
                StartVerdict::Format => prop_assert!(seen.may_format && (seen.device == DeviceSeen::Raw
                    || (seen.device == DeviceSeen::Unrecognised && seen.making.is_some()))),
                StartVerdict::Mount => {
                    let DeviceSeen::FileSystem(found) = &seen.device else { panic!("{:?} is mounted", seen.device) };
                    let ours = matches!(&seen.twin, MarkerSeen::Whole(twin) if twin.file_system == *found);
                    prop_assert!(seen.may_format && (ours || seen.making.as_ref() == Some(found)));
                }
                other => prop_assert!(false, "{other:?} on nothing"),
            },
        }
        let refused = matches!(seen.destination, DestinationSeen::Foreign(_) | DestinationSeen::Unreachable(_));
        prop_assert!(!refused || verdict == StartVerdict::Mount, "{verdict:?}");
    }
}
