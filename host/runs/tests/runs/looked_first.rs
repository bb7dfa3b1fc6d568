//! What is looked at before a load: who else uses the device, and whether a result could be kept.

use crate::folder;
use loadline_runs::{
    Concern, Consent, Error, Measurement, Observer, QuickMeasurement, Refusal, RunOptions, Settings, Silent,
    sole_target,
};
use loadline_units::{Bytes, Duration};
use loadline_workload::{Plan, parse_objective};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Long enough to be looked at for a quarter of a second.
const PLAN: &str =
    "schema = 1\nname = \"p\"\n[[load]]\nsize = \"1 MiB\"\nwarm_up = \"0 s\"\nduration = \"2500 ms\"\ntrials = 1\n";

/// Somebody who does not want to slow others down.
#[derive(Default)]
struct Careful(Vec<Concern>);

impl Observer for Careful {
    fn consents(&mut self, concern: &Concern) -> Consent {
        self.0.push(concern.clone());
        Consent::Withheld
    }
}

fn quick(target: &Path) -> QuickMeasurement {
    QuickMeasurement {
        settings: Settings::of(sole_target(target.to_str().unwrap())),
        size: Some(Bytes::mib(4)),
        duration: Some(Duration::from_ms(1)),
        objective: parse_objective("20 ms").unwrap(),
    }
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn who_uses_the_device_is_found_and_without_consent_nothing_is_loaded() {
    let folder = folder();
    let (target, store) = (folder.path().join("target"), folder.path().join("runs.db"));
    std::fs::create_dir(&target).unwrap();
    let ends = AtomicBool::new(false);
    let (result, observer) = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = std::fs::File::create(folder.path().join("journal")).unwrap();
            while !ends.load(Ordering::Relaxed) {
                file.write_all(&[1; 16 << 10]).unwrap();
                file.sync_data().unwrap();
            }
        });
        let mut observer = Careful::default();
        let measurement = Measurement::new(Plan::parse(PLAN, "p").unwrap()).on("data", target.to_str().unwrap());
        let result = measurement.run(&RunOptions::default().stored_in(&store), &mut observer);
        ends.store(true, Ordering::Relaxed);
        (result, observer)
    });
    let error = match result {
        Ok(outcome) if outcome.record.header.volumes[0].devices.is_empty() => {
            println!("skipped: no device can be seen below the test's folder");
            return;
        }
        other => other.unwrap_err(),
    };
    let Error::Refused(refusal) = error else { panic!("{error}") };
    let Refusal::NotAgreed(concern) = *refusal else { panic!("{refusal}") };
    assert_eq!(observer.0, std::slice::from_ref(&concern));
    let Concern::InUse(devices) = concern else { panic!("{concern}") };
    // On a slow disk a single flush may last as long as the look.
    assert!(devices[0].iops > 0.0 || devices[0].busy > 0.0, "{devices:?}");
    assert_eq!(entries(&target), 0);
    assert!(loadline_store::Store::open(&store).unwrap().list(&loadline_store::Filter::default()).unwrap().is_empty());
}

#[test]
fn memory_is_not_taken_for_a_disk_unless_somebody_agrees() {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        println!("skipped: no /dev/shm");
        return;
    };
    let store = folder();
    let options = RunOptions::default().stored_in(store.path().join("runs.db"));
    let error = quick(memory.path()).run(&options, &mut Silent::default()).unwrap_err();
    let Error::Refused(refusal) = error else { panic!("{error}") };
    let Refusal::NotAgreed(Concern::Memory(found)) = *refusal else { panic!("{refusal}") };
    assert_eq!((found.kind.as_str(), found.target.as_str()), ("a tmpfs", memory.path().to_str().unwrap()));
    assert_eq!(entries(memory.path()), 0);
}

#[test]
fn a_store_that_cannot_be_written_is_found_before_the_target_is() {
    struct NothingFilled;
    impl Observer for NothingFilled {
        fn event(&mut self, event: &loadline_runs::Event<'_>) {
            assert!(!matches!(
                event,
                loadline_runs::Event::FilledFirst { .. } | loadline_runs::Event::RunBegins { .. }
            ));
        }
    }
    let target = folder();
    // Not even root makes files there.
    let options = RunOptions::default().stored_in("/proc/loadline/runs.db");
    let error = quick(target.path()).run(&options, &mut NothingFilled).unwrap_err();
    assert!(error.to_string().contains("/proc/loadline"), "{error}");
    assert_eq!(entries(target.path()), 0);
    let measurement = Measurement::new(Plan::parse(PLAN, "p").unwrap()).on("data", target.path().to_str().unwrap());
    measurement.run(&options, &mut NothingFilled).unwrap_err();
    assert_eq!(entries(target.path()), 0);
}
