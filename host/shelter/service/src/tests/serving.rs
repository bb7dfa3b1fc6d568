//! The service: order of its words to systemd, the last save, notices of mock clouds.

use super::world::{GROUPS, World, save, tree};
use crate::notify::ServiceManager;
use crate::service::{Ending, ServiceSettings, serve};
use crate::shelter::last_status;
use loadline_shelter_policy::status::ServicePhase;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Runs a service beside `during`, then ends it.
fn served(
    world: &World,
    settings: &ServiceSettings,
    during: impl FnOnce(),
) -> (Result<Ending, crate::ShelterError>, Vec<String>) {
    let ends = AtomicBool::new(false);
    let mut shelter = world.shelter();
    std::thread::scope(|scope| {
        let service = scope.spawn(|| {
            let mut told = Vec::new();
            let ending = serve(&mut shelter, settings, &|| ends.load(Ordering::Relaxed), &mut |line| {
                told.push(line.to_owned());
            });
            (ending, told)
        });
        during();
        ends.store(true, Ordering::Relaxed);
        service.join().unwrap()
    })
}

fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn generation(world: &World) -> u64 {
    last_status(&world.config).ok().flatten().and_then(|status| status.last_save).map_or(0, |save| save.generation)
}

#[test]
fn services_start_after_the_restore_and_the_last_change_is_saved_at_the_end() {
    let mut world = World::new(GROUPS);
    world.config.metrics = Some(world.path("metrics").display().to_string());
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    drop(shelter);
    let data = tree(&world.disk("data"));
    world.lose_disk();
    let socket = UnixDatagram::bind(world.path("notify")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let settings = ServiceSettings { manager: ServiceManager::at(world.path("notify").to_str().unwrap()) };
    let mut words = Vec::new();
    let next = || {
        let mut bytes = [0; 4096];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let (ending, told) = served(&world, &settings, || {
        while !words.iter().any(|word: &String| word.contains("waiting")) {
            words.push(next());
        }
        assert!(words.iter().all(|word| !word.contains("READY=1")), "{words:?}");
        world.insert_disk();
        while !words.iter().any(|word| word.contains("READY=1")) {
            words.push(next());
        }
        // At the very moment at which services may start, all is there.
        assert_eq!(tree(&world.disk("data")), data);
        while !next().contains("WATCHDOG=1") {}
        fs::write(world.disk("data/last"), "at the last moment").unwrap();
    });
    assert_eq!(ending.unwrap(), Ending::Saved);
    assert_eq!(world.saved("data/last").unwrap(), b"at the last moment");
    assert!(told[0].starts_with("waiting") && told.iter().any(|line| line.contains("restored")), "{told:?}");
    let status = last_status(&world.config).unwrap().unwrap();
    assert_eq!((status.phase, status.failure), (ServicePhase::Stopped, None));
    assert!(fs::read_to_string(world.path("metrics")).unwrap().ends_with("# EOF\n"));
}

#[test]
fn changes_are_saved_within_the_recovery_point() {
    let world = World::new(GROUPS);
    let (ending, _) = served(&world, &ServiceSettings::default(), || {
        wait_until("ready", || {
            last_status(&world.config).ok().flatten().is_some_and(|status| status.phase == ServicePhase::Ready)
        });
        fs::create_dir(world.disk("data")).unwrap();
        fs::write(world.disk("data/a"), "1").unwrap();
        wait_until("saved", || world.saved("data/a").is_some_and(|bytes| bytes == b"1"));
        fs::write(world.disk("data/a"), "22").unwrap();
        wait_until("saved again", || world.saved("data/a").is_some_and(|bytes| bytes == b"22"));
    });
    ending.unwrap();
}

#[test]
fn a_refused_start_fails_and_says_why() {
    let world = World::new(GROUPS);
    world.fill();
    let before = tree(world.root());
    let (ending, _) = served(&world, &ServiceSettings::default(), || {
        wait_until("failed", || {
            last_status(&world.config).ok().flatten().is_some_and(|status| status.phase == ServicePhase::Failed)
        });
    });
    assert!(ending.unwrap_err().to_string().contains("no marker"));
    let after = tree(world.root());
    let new: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    assert!(new.iter().all(|path| path.starts_with("state")), "{new:?}");
}

/// A metadata service: each request is answered by the first script line that its first line begins with.
struct MockCloud {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl MockCloud {
    fn new(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let mut request = Vec::new();
                let mut piece = [0; 4096];
                while let Ok(length) = stream.read(&mut piece) {
                    request.extend_from_slice(&piece[..length]);
                    let text = String::from_utf8_lossy(&request).to_lowercase();
                    let whole = text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
                        let wanted = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                        body.len() >= wanted.map_or(0, |wanted| wanted.parse().unwrap())
                    });
                    if length == 0 || whole {
                        break;
                    }
                }
                let text = String::from_utf8_lossy(&request).into_owned();
                let (status, body) = answer(&text);
                heard.lock().unwrap().push(text);
                let _ = write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            }
        });
        Self { address, asked }
    }
}

#[test]
fn a_notice_of_each_cloud_saves_everything_at_once() {
    let azure = r#"{"DocumentIncarnation":2,"Events":[{"EventId":"E1","EventStatus":"Scheduled","EventType":"Preempt",
        "ResourceType":"VirtualMachine","Resources":["w"],"NotBefore":"Mon, 11 Apr 2022 22:26:58 GMT"}]}"#;
    for (cloud, polled, quiet, notice) in [
        ("azure", "GET /metadata/scheduledevents", (200, r#"{"DocumentIncarnation":1,"Events":[]}"#), azure),
        ("aws", "GET /latest/meta-data/spot/", (404, ""), r#"{"action":"stop","time":"2017-09-18T08:22:00Z"}"#),
        ("gcp", "GET /computeMetadata/v1/", (200, "FALSE"), "TRUE"),
    ] {
        let comes = Arc::new(AtomicBool::new(false));
        let mock = MockCloud::new({
            let comes = Arc::clone(&comes);
            move |request| {
                if request.starts_with("PUT /latest/api/token") {
                    return (200, "token".to_owned());
                }
                if request.starts_with("POST") {
                    return (200, String::new());
                }
                if cloud == "aws" {
                    // Names of headers have no case.
                    assert!(request.to_lowercase().contains("x-aws-ec2-metadata-token: token"), "{request}");
                }
                assert!(request.starts_with(polled), "{request}");
                if comes.load(Ordering::Relaxed) { (200, notice.to_owned()) } else { (quiet.0, quiet.1.to_owned()) }
            }
        });
        // A recovery point of an hour: only the notice makes it save.
        let groups = "[group.data]\nclass = \"files\"\npaths = [\"data\"]\nrecovery_point = \"1 h\"\n";
        let more = format!(
            "[notices]\ncloud = \"{cloud}\"\naddress = \"{}\"\n[limits]\nthroughput = \"1 MB/s\"\n",
            mock.address
        );
        let world = World::with(groups, &more);
        fs::create_dir(world.disk("data")).unwrap();
        let mut shelter = world.shelter();
        shelter.adopt().unwrap();
        drop(shelter);
        let (ending, told) = served(&world, &ServiceSettings::default(), || {
            wait_until("asked", || !mock.asked.lock().unwrap().is_empty());
            // Ten seconds at the cap: the notice lifts it.
            fs::write(world.disk("data/dirty"), vec![7; 10_000_000]).unwrap();
            comes.store(true, Ordering::Relaxed);
            wait_until("saved", || generation(&world) == 2);
            if cloud == "azure" {
                wait_until("approved", || mock.asked.lock().unwrap().iter().any(|asked| asked.starts_with("POST")));
                let asked = mock.asked.lock().unwrap();
                let approved = asked.iter().find(|asked| asked.starts_with("POST")).unwrap();
                assert!(approved.ends_with(r#"{"StartRequests":[{"EventId":"E1"}]}"#), "{approved}");
            }
            assert_eq!(world.saved("data/dirty").unwrap().len(), 10_000_000);
        });
        ending.unwrap();
        assert!(told.iter().any(|line| line.starts_with("notice: ")), "{told:?}");
    }
}
