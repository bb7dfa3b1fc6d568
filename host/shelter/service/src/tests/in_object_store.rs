//! A disk saved into an object store and lost; credentials that are missing, wrong, or on the disk that forgets.

#[expect(dead_code, reason = "tests of the repository use the rest")]
#[path = "../../../repository/tests/repository/s3_server.rs"]
mod s3_server;

use super::world::{GROUPS, World, save, tree};
use crate::error::ShelterError;
use crate::service::{Ending, ServiceSettings, serve};
use crate::shelter::last_status;
use loadline_shelter_policy::config::{Destination, MARKER_NAME};
use loadline_shelter_policy::start::Awaited;
use loadline_shelter_repository::{ObjectStorage, Repository, ScryptCost, StoreAccess, StoreVariables, Timestamp};
use s3_server::{KEY, S3Server, ServerFault};
use std::fs;
use std::sync::Arc;

const URL: &str = "s3://bucket/shelters/fast";

/// A world whose destination is a store that has a repository already: its key costs less than one that a shelter makes.
fn world_in(server: &S3Server) -> World {
    let mut world = World::without_repository(GROUPS, "");
    let credentials = world.path("store.env");
    fs::write(&credentials, format!("AWS_ACCESS_KEY_ID={KEY}\nAWS_SECRET_ACCESS_KEY=\"secret\"\n")).unwrap();
    world.config.destination = Some(Destination::ObjectStore {
        url: URL.to_owned(),
        endpoint: Some(server.endpoint()),
        credentials_file: Some(credentials.display().to_string()),
    });
    let variables = StoreVariables::read(&credentials).unwrap();
    let access = StoreAccess { endpoint: Some(server.endpoint()), ..StoreAccess::new(variables) };
    let storage = Arc::new(ObjectStorage::open(URL, &access).unwrap());
    let cost = ScryptCost { log_n: 4, r: 8, p: 1 };
    Repository::create(storage, b"a long passphrase", cost, Timestamp::new(0, 0)).unwrap();
    world
}

#[test]
fn a_lost_disk_comes_back_from_an_object_store() {
    let server = S3Server::start();
    let world = world_in(&server);
    let mut shelter = world.started();
    world.fill();
    assert_eq!(save(&mut shelter).unwrap().generation, 1);
    let before = server.requests();
    assert!(save(&mut shelter).is_none(), "nothing changed");
    assert_eq!(server.requests(), before, "no request if nothing changed");
    fs::write(world.disk("data/file3"), "changed").unwrap();
    let second = save(&mut shelter).unwrap();
    assert_eq!((second.generation, second.files), (2, 1), "only what changed is read");
    assert!(shelter.verify().unwrap().is_whole());
    let (data, wal) = (tree(&world.disk("data")), tree(&world.disk("wal")));
    drop(shelter);
    world.lose_disk();
    world.insert_disk();
    // The store is busy at that moment: the restore goes on.
    server.set(Some(ServerFault::SlowDown(1)));
    let mut shelter = world.shelter();
    let restored = shelter.restore().unwrap().restored.unwrap();
    assert!(restored.damaged.is_empty(), "{restored:?}");
    assert_eq!((tree(&world.disk("data")), tree(&world.disk("wal"))), (data, wal));
    assert!(save(&mut shelter).is_none(), "what was restored is known: nothing is read again");
    assert_eq!(shelter.traffic().map(|traffic| traffic.throttled), Some(1));
}

#[test]
fn wrong_credentials_wait_and_say_which_file_they_come_from() {
    let server = S3Server::start();
    let world = world_in(&server);
    let credentials = world.path("store.env");
    fs::write(&credentials, "AWS_ACCESS_KEY_ID=old\nAWS_SECRET_ACCESS_KEY=secret\n").unwrap();
    let error = world.shelter().restore().unwrap_err();
    let ShelterError::NotReady(Awaited::Destination(reason)) = &error else { panic!("{error}") };
    let from = format!("the credentials come from {}", credentials.display());
    assert!(reason.contains("403 InvalidAccessKeyId") && reason.contains(&from), "{reason}");
    assert!(reason.starts_with(URL), "{reason}");
    assert!(!world.disk(MARKER_NAME).exists());
}

#[test]
fn credentials_on_the_disk_that_forgets_are_refused() {
    let server = S3Server::start();
    let mut world = world_in(&server);
    let before = server.requests();
    fs::write(world.disk("key.json"), "{}").unwrap();
    let named = world.path("named.env");
    fs::write(&named, format!("GOOGLE_APPLICATION_CREDENTIALS={}\n", world.disk("key.json").display())).unwrap();
    let Some(Destination::ObjectStore { credentials_file, .. }) = &mut world.config.destination else { panic!() };
    *credentials_file = Some(named.display().to_string());
    let error = world.shelter().restore().unwrap_err().to_string();
    assert!(error.contains("key.json is on the disk that forgets"), "{error}");
    assert_eq!(server.requests(), before, "nothing was asked");
}

#[test]
fn a_service_reports_its_requests_and_saves_once_more_at_its_end() {
    let server = S3Server::start();
    let world = world_in(&server);
    let mut shelter = world.started();
    world.fill();
    drop(shelter);
    let data = tree(&world.disk("data"));
    shelter = world.shelter();
    let ending = serve(&mut shelter, &ServiceSettings::default(), &|| shelter_is_ready(&world), &mut |_| {});
    assert_eq!(ending.unwrap(), Ending::Saved);
    drop(shelter);
    let status = last_status(&world.config).unwrap().unwrap();
    assert_eq!((status.requests_failed_total, status.requests_throttled_total), (Some(0), Some(0)));
    assert!(
        status.requests_total > Some(3) && status.metrics().contains("loadline_shelter_requests_total"),
        "{status:?}"
    );
    world.lose_disk();
    world.insert_disk();
    world.started();
    assert_eq!(tree(&world.disk("data")), data);
}

fn shelter_is_ready(world: &World) -> bool {
    use loadline_shelter_policy::status::ServicePhase;
    last_status(&world.config).ok().flatten().is_some_and(|status| status.phase == ServicePhase::Ready)
}
