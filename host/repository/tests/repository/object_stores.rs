//! Repositories in object stores, with servers on this machine. They take a minute: `LOADLINE_TEST_LONG=1`.

use crate::trees::{CHEAP, NOW, PASSWORD, assert_same, every_kind};
use loadline_repository::{
    CheckedData, KeepRules, LeaseTaking, ObjectStorage, Repository, RepositoryError, RepositoryStorage, RestoreRequest,
    SaveRequest, StorageErrorKind, Timestamp, Unpaced,
};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// moto's server of S3, ended when it is dropped.
struct Moto {
    server: Child,
    port: u16,
}

impl Moto {
    /// `None` where it is not installed, or where nobody asked for long tests.
    fn start() -> Option<Self> {
        if std::env::var_os("LOADLINE_TEST_LONG").is_none() {
            println!("skipped: object stores are tried with LOADLINE_TEST_LONG=1 alone");
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let program = std::env::var_os("LOADLINE_MOTO").unwrap_or_else(|| "moto_server".into());
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(server) = command.spawn() else {
            println!("skipped: moto_server is not installed: pip install 'moto[server,s3]'");
            return None;
        };
        let moto = Self { server, port };
        let end = Instant::now() + Duration::from_secs(60);
        while !moto.make_bucket() {
            assert!(Instant::now() < end, "moto does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(moto)
    }

    fn make_bucket(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let request = "PUT /bucket HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let mut answer = String::new();
        stream.write_all(request.as_bytes()).is_ok()
            && stream.read_to_string(&mut answer).is_ok()
            && answer.contains(" 200 ")
    }

    fn storage(&self) -> Arc<ObjectStorage> {
        let options = [
            ("aws_endpoint", format!("http://127.0.0.1:{}", self.port)),
            ("aws_access_key_id", "key".to_owned()),
            ("aws_secret_access_key", "secret".to_owned()),
            ("aws_region", "us-east-1".to_owned()),
            ("allow_http", "true".to_owned()),
        ]
        .map(|(key, value)| (key.to_owned(), value));
        Arc::new(ObjectStorage::open("s3://bucket/below/here", &options).unwrap())
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn a_repository_in_s3_is_saved_into_restored_from_fenced_and_pruned() {
    let Some(moto) = Moto::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    every_kind(&source);
    let mut repository = Repository::create(moto.storage(), PASSWORD.as_bytes(), CHEAP, NOW).unwrap();
    let until = Timestamp::new(NOW.seconds + 60, 0);
    let lease = repository.take_lease("here", NOW, until, LeaseTaking::Polite).unwrap();
    let request = SaveRequest { lease: Some(lease.clone()), ..SaveRequest::new(vec![source.clone()], NOW) };
    for round in 0..3_u8 {
        std::fs::write(source.join("text"), [round; 30]).unwrap();
        let time = Timestamp::new(NOW.seconds + i64::from(round), 0);
        repository.save(&SaveRequest { time, ..request.clone() }, &Unpaced).unwrap();
    }
    let mut other = Repository::open(moto.storage(), PASSWORD.as_bytes()).unwrap();
    let snapshots = other.snapshots().unwrap();
    assert_eq!(snapshots.len(), 3);
    let target = folder.path().join("target");
    let restore = RestoreRequest::new(snapshots[2].id, &source, &target);
    assert!(other.restore(&restore, &Unpaced).unwrap().failed.is_empty());
    assert_same(&source, &target);

    // Both takings are refused by the server itself: the first is there, the second was overtaken.
    let storage = moto.storage();
    let conflict = |result: Result<_, loadline_repository::StorageError>| {
        assert_eq!(result.unwrap_err().kind, StorageErrorKind::Conflict);
    };
    conflict(storage.replace_lease(None, b"{}"));
    let (_, stale) = storage.read_lease().unwrap().unwrap();
    let newer = other.take_lease("there", NOW, until, LeaseTaking::Forced).unwrap();
    conflict(storage.replace_lease(Some(&stale), b"{}"));
    std::fs::write(source.join("text"), b"too late").unwrap();
    let late = repository.save(&request, &Unpaced).unwrap_err();
    assert!(matches!(late, RepositoryError::LeaseLost { .. }), "{late}");

    let rules = KeepRules { last: 1, minutely: 0, hourly: 0, daily: 0 };
    assert_eq!(other.forget(rules, &newer).unwrap().len(), 2);
    assert!(other.prune(&newer, &Unpaced).unwrap().packs_removed > 0);
    let checked = other.check(CheckedData::Everything, &Unpaced).unwrap();
    assert!(checked.findings.is_empty() && checked.unreferenced == 0, "{checked:?}");
}
