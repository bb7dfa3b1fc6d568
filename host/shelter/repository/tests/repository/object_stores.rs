//! Repositories in object stores: a small server in this process misbehaves, and the servers that others wrote are judges.
//!
//! moto and Azurite are tried where `cargo xtask test --long` has put them, or where a variable names them.

use crate::s3_server::{KEY, S3Server, ServerFault, TOKEN};
use crate::trees::{CHEAP, NOW, PASSWORD, assert_same, every_kind};
use crate::with_restic::assert_sound;
use loadline_shelter_repository::{
    CheckedData, KeepRules, LeaseTaking, ObjectStorage, Repository, RepositoryError, RepositoryStorage, RestoreRequest,
    RetryBounds, SaveRequest, StorageErrorKind, StorageTraffic, StoreAccess, StoreVariables, Timestamp, Unpaced,
};
use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Retries that a test has the time for.
const QUICK: RetryBounds = RetryBounds {
    count: 3,
    wait: Duration::from_millis(1),
    wait_max: Duration::from_millis(5),
    time: Duration::from_secs(20),
};

fn access(endpoint: &str, variables: &[(&str, &str)]) -> StoreAccess {
    let variables = StoreVariables::given(variables);
    StoreAccess { endpoint: Some(endpoint.to_owned()), retries: QUICK, ..StoreAccess::new(variables) }
}

fn amazon(key: &str) -> [(&str, &str); 2] {
    [("AWS_ACCESS_KEY_ID", key), ("AWS_SECRET_ACCESS_KEY", "secret")]
}

fn in_s3(server: &S3Server) -> Arc<ObjectStorage> {
    Arc::new(ObjectStorage::open("s3://bucket/below/here", &access(&server.endpoint(), &amazon(KEY))).unwrap())
}

fn traffic(storage: &ObjectStorage) -> StorageTraffic {
    storage.traffic().unwrap()
}

/// A life of a repository in a store: saved, restored, fenced, pruned, checked.
fn live(open: &dyn Fn() -> Arc<ObjectStorage>) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    every_kind(&source);
    let mut repository = Repository::create(open(), PASSWORD.as_bytes(), CHEAP, NOW).unwrap();
    let until = Timestamp::new(NOW.seconds + 60, 0);
    let lease = repository.take_lease("here", NOW, until, LeaseTaking::Polite).unwrap();
    let request = SaveRequest { lease: Some(lease.clone()), ..SaveRequest::new(vec![source.clone()], NOW) };
    for round in 0..3_u8 {
        fs::write(source.join("text"), [round; 30]).unwrap();
        let time = Timestamp::new(NOW.seconds + i64::from(round), 0);
        repository.save(&SaveRequest { time, ..request.clone() }, &Unpaced).unwrap();
    }
    let mut other = Repository::open(open(), PASSWORD.as_bytes()).unwrap();
    let snapshots = other.snapshots().unwrap();
    assert_eq!(snapshots.len(), 3);
    let target = folder.path().join("target");
    let restore = RestoreRequest::new(snapshots[2].id, &source, &target);
    assert!(other.restore(&restore, &Unpaced).unwrap().failed.is_empty());
    assert_same(&source, &target);

    // Both takings are refused by the server itself: the first is there, the second was overtaken.
    let storage = open();
    let conflict = |result: Result<_, loadline_shelter_repository::StorageError>| {
        assert_eq!(result.unwrap_err().kind, StorageErrorKind::Conflict);
    };
    conflict(storage.replace_lease(None, b"{}"));
    let (_, stale) = storage.read_lease().unwrap().unwrap();
    let newer = other.take_lease("there", NOW, until, LeaseTaking::Forced).unwrap();
    conflict(storage.replace_lease(Some(&stale), b"{}"));
    fs::write(source.join("text"), b"too late").unwrap();
    let late = repository.save(&request, &Unpaced).unwrap_err();
    assert!(matches!(late, RepositoryError::LeaseLost { .. }), "{late}");

    let rules = KeepRules { last: 1, minutely: 0, hourly: 0, daily: 0 };
    assert_eq!(other.forget(rules, &newer).unwrap().len(), 2);
    assert!(other.prune(&newer, &Unpaced).unwrap().packs_removed > 0);
    let checked = other.check(CheckedData::Everything, &Unpaced).unwrap();
    assert!(checked.findings.is_empty() && checked.unreferenced == 0, "{checked:?}");
}

/// Objects below a prefix, as files of a folder.
fn laid_out(objects: &BTreeMap<String, Vec<u8>>, prefix: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in objects {
        let path = folder.path().join(path.strip_prefix(prefix).unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

#[test]
fn a_repository_in_a_store_lives_as_one_in_a_folder_and_restic_finds_it_sound() {
    let server = S3Server::start();
    live(&|| in_s3(&server));
    assert_sound(laid_out(&server.objects(), "below/here/").path());
    let storage = in_s3(&server);
    assert!(storage.list(loadline_shelter_repository::FileKind::Pack).is_ok());
    assert_eq!(traffic(&storage).failed, 0);
}

#[test]
fn a_repository_in_google_cloud_storage_is_fenced_by_generations() {
    let server = S3Server::start();
    let variables = [("GOOGLE_ACCESS_TOKEN", TOKEN)];
    let open = || ObjectStorage::open("gs://bucket/below", &access(&server.endpoint(), &variables)).unwrap();
    live(&|| Arc::new(open()));
    assert_sound(laid_out(&server.objects(), "below/").path());
    let wrong = access(&server.endpoint(), &[("GOOGLE_ACCESS_TOKEN", "old")]);
    let error = ObjectStorage::open("gs://bucket/below", &wrong).unwrap().read_lease().unwrap_err();
    assert_eq!(error.kind, StorageErrorKind::Denied, "{error}");
}

#[test]
fn requests_that_a_store_puts_off_are_repeated_counted_and_bounded() {
    let server = S3Server::start();
    let storage = in_s3(&server);
    storage.replace_lease(None, b"one").unwrap();
    server.set(Some(ServerFault::SlowDown(3)));
    assert_eq!(storage.read_lease().unwrap().unwrap().0, b"one");
    assert_eq!(traffic(&storage), StorageTraffic { requests: 5, failed: 3, throttled: 3 });
    server.set(Some(ServerFault::SlowDown(u64::MAX)));
    let before = server.requests();
    let error = storage.read_lease().unwrap_err().to_string();
    assert_eq!(server.requests() - before, 4, "the first and three repetitions");
    let said = "the store answered 503 SlowDown (Please reduce your request rate.), after 4 tries";
    assert!(error.contains(said), "{error}");
}

#[test]
fn an_answer_that_is_cut_off_is_asked_for_again_and_never_taken_for_whole() {
    let server = S3Server::start();
    let storage = in_s3(&server);
    storage.replace_lease(None, b"all of it").unwrap();
    server.set(Some(ServerFault::CutsAnswers(2)));
    assert_eq!(storage.read_lease().unwrap().unwrap().0, b"all of it");
    server.set(Some(ServerFault::CutsAnswers(u64::MAX)));
    let error = storage.read_lease().unwrap_err().to_string();
    assert!(error.contains("the connection ended before the whole answer, after 4 tries"), "{error}");
}

#[test]
fn a_server_that_dies_in_the_middle_of_a_save_costs_that_save_alone() {
    let server = S3Server::start();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    every_kind(&source);
    let mut repository = Repository::create(in_s3(&server), PASSWORD.as_bytes(), CHEAP, NOW).unwrap();
    let request = SaveRequest::new(vec![source.clone()], NOW);
    let first = repository.save(&request, &Unpaced).unwrap().snapshot;
    fs::write(source.join("more"), crate::trees::noise(9, 2_000_000)).unwrap();
    let (mut deaths, mut saved) = (0, None);
    for requests in 0..100 {
        server.set(Some(ServerFault::DiesAfter(requests)));
        let done = repository.save(&request, &Unpaced);
        server.set(None);
        match done {
            Ok(done) => {
                saved = Some(done.snapshot);
                break;
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("no answer of 127.0.0.1:") && text.contains("after 4 tries"), "{text}");
                deaths += 1;
            }
        }
        let mut other = Repository::open(in_s3(&server), PASSWORD.as_bytes()).unwrap();
        assert_eq!(other.snapshots().unwrap().len(), 1, "death {deaths}");
        let target = folder.path().join(format!("after{deaths}"));
        assert!(other.restore(&RestoreRequest::new(first, &source, &target), &Unpaced).unwrap().failed.is_empty());
        assert!(target.join("text").exists() && !target.join("more").exists());
    }
    assert!(deaths >= 3, "{deaths}");
    let mut other = Repository::open(in_s3(&server), PASSWORD.as_bytes()).unwrap();
    let target = folder.path().join("target");
    other.restore(&RestoreRequest::new(saved.unwrap(), &source, &target), &Unpaced).unwrap();
    assert_same(&source, &target);
    assert_sound(laid_out(&server.objects(), "below/here/").path());
}

#[test]
fn a_store_that_refuses_says_why_and_whose_credentials_it_refused() {
    let server = S3Server::start();
    let open = |address: &str, endpoint: &str, variables: &[(&str, &str)]| {
        ObjectStorage::open(address, &access(endpoint, variables)).unwrap()
    };
    let error = open("s3://bucket", &server.endpoint(), &amazon("wrong")).read_lease().unwrap_err();
    assert_eq!(error.kind, StorageErrorKind::Denied);
    let text = error.to_string();
    assert!(text.contains("cannot read loadline/lease: the store answered 403 InvalidAccessKeyId"), "{text}");
    assert!(text.ends_with("the credentials come from the environment"), "{text}");
    let error = open("s3://other", &server.endpoint(), &amazon(KEY)).list(loadline_shelter_repository::FileKind::Key);
    assert!(error.unwrap_err().to_string().contains("404 NoSuchBucket (The specified bucket does not exist)"));
    // Nothing is given: the machine is asked, and there is no metadata service at this address.
    let metadata = [("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")];
    let error = open("s3://bucket", &server.endpoint(), &metadata).read_lease().unwrap_err().to_string();
    assert!(error.contains("no credentials are given: set AWS_ACCESS_KEY_ID"), "{error}");
    assert_eq!(server.requests(), 2, "no request without credentials");
    // Without `http://` in so many words, nothing is sent in plain.
    let variables = StoreVariables::given(&[("AWS_ENDPOINT", &server.endpoint()), amazon(KEY)[0], amazon(KEY)[1]]);
    let plain = StoreAccess { retries: QUICK, ..StoreAccess::new(variables) };
    let error = ObjectStorage::open("s3://bucket", &plain).unwrap().read_lease().unwrap_err().to_string();
    assert!(error.contains("it is not encrypted: write https://"), "{error}");
    let error = ObjectStorage::open("ftp://bucket", &plain).unwrap_err().to_string();
    assert!(error.contains("none of s3, azure and gs"), "{error}");
}

/// A server that somebody else wrote, ended when it is dropped.
struct PeerServer {
    server: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl PeerServer {
    /// `None` if it is not installed. `words` are its arguments by its port and a folder of its own.
    fn start(name: &str, words: impl Fn(&str, &str) -> Vec<String>) -> Option<Self> {
        let Some(program) = peer(name) else {
            println!("skipped: {name} is not there: cargo xtask test --long installs it");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let words = words(&port.to_string(), folder.path().to_str().unwrap());
        let mut command = Command::new(&program);
        command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(server) = command.spawn() else {
            println!("skipped: {} cannot be started", program.display());
            return None;
        };
        let server = Self { server, port, _folder: folder };
        let end = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", server.port)).is_err() {
            assert!(Instant::now() < end, "{name} does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    /// A request by `curl`, which must succeed.
    fn curl(&self, words: &[&str], path: &str) {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        let output = Command::new("curl").args(["-sSf"]).args(words).arg(&url).output().unwrap();
        assert!(output.status.success(), "{url}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for PeerServer {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Where a server is: named by a variable, or below `target/peers`.
fn peer(name: &str) -> Option<PathBuf> {
    let variable = format!("LOADLINE_{}", name.to_ascii_uppercase().replace('-', "_"));
    if let Some(path) = std::env::var_os(variable) {
        return Some(path.into());
    }
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/peers");
    let path = peers.join(match name {
        "moto_server" => "stores/bin/moto_server",
        _ => "stores/node_modules/.bin/azurite-blob",
    });
    path.is_file().then_some(path)
}

/// restic on a repository in a store; whether it is installed.
fn restic(repository: &str, variables: &[(&str, &str)], words: &[&str]) -> bool {
    let program = std::env::var_os("LOADLINE_RESTIC").unwrap_or_else(|| "restic".into());
    let mut command = Command::new(program);
    command.arg("-r").arg(repository).args(["--no-cache", "-q"]).args(words).env("RESTIC_PASSWORD", PASSWORD);
    match command.envs(variables.iter().copied()).output() {
        Ok(output) => {
            assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
            true
        }
        Err(error) => {
            println!("skipped: restic cannot be started: {error}");
            false
        }
    }
}

/// Everything of a store below its prefix, as restic's local backend has it.
fn copied(storage: &ObjectStorage) -> tempfile::TempDir {
    use loadline_shelter_repository::{FileKind, StoredFile};
    let mut files = vec![StoredFile::Config];
    for kind in FileKind::ALL {
        files.extend(storage.list(kind).unwrap().into_iter().map(|file| StoredFile::Named(kind, file.id)));
    }
    let objects = files.into_iter().map(|file| (file.path(), storage.read(file).unwrap())).collect();
    laid_out(&objects, "")
}

#[test]
fn moto_and_restic_agree_with_us_on_s3() {
    let words = |port: &str, _: &str| ["-H", "127.0.0.1", "-p", port].map(str::to_owned).to_vec();
    let Some(server) = PeerServer::start("moto_server", words) else { return };
    server.curl(&["-X", "PUT"], "/bucket");
    let endpoint = format!("http://127.0.0.1:{}", server.port);
    live(&|| Arc::new(ObjectStorage::open("s3://bucket/below/here", &access(&endpoint, &amazon(KEY))).unwrap()));
    let repository = format!("s3:{endpoint}/bucket/below/here");
    if restic(&repository, &amazon(KEY), &["check", "--read-data"]) {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().to_str().unwrap();
        restic(&repository, &amazon(KEY), &["restore", "latest", "--target", target]);
        assert!(fs::read_dir(folder.path()).unwrap().next().is_some());
    }
}

#[test]
fn azurite_agrees_with_us_on_azure_blob_and_refuses_a_wrong_key() {
    // The account and its key are the emulator's own, and published.
    let key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    let words = |port: &str, folder: &str| {
        let words =
            ["--blobPort", port, "--location", folder, "--silent", "--skipApiVersionCheck", "--disableTelemetry"];
        words.map(str::to_owned).to_vec()
    };
    let Some(server) = PeerServer::start("azurite-blob", words) else { return };
    let endpoint = format!("http://127.0.0.1:{}/devstoreaccount1", server.port);
    let open = |key: &str, container: &str| {
        let variables = [("AZURE_STORAGE_ACCOUNT_NAME", "devstoreaccount1"), ("AZURE_STORAGE_ACCOUNT_KEY", key)];
        let address = format!("azure://{container}/below/here");
        Arc::new(ObjectStorage::open(&address, &access(&endpoint, &variables)).unwrap())
    };
    let missing = open(key, "data").list(loadline_shelter_repository::FileKind::Key).unwrap_err().to_string();
    assert!(missing.contains("404 ContainerNotFound"), "{missing}");
    make_container(&endpoint, key);
    live(&|| open(key, "data"));
    assert_sound(copied(&open(key, "data")).path());
    let wrong = key.replace("Eby8", "Eby9");
    let error = open(&wrong, "data").read_lease().unwrap_err();
    assert_eq!(error.kind, StorageErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("403 AuthorizationFailure"), "{error}");
}

/// A container in Azurite: its own client for Node makes it.
fn make_container(endpoint: &str, key: &str) {
    let program = peer("azurite-blob").unwrap();
    // `node_modules/.bin/azurite-blob`
    let modules = program.parent().unwrap().parent().unwrap();
    let script = format!(
        "const c = require('crypto'); const u = new URL('{endpoint}/data?restype=container'); \
         const date = new Date().toUTCString(); \
         const text = ['PUT', '', '', '', '', '', '', '', '', '', '', '', 'x-ms-date:' + date, 'x-ms-version:2023-11-03', \
         '/devstoreaccount1' + u.pathname, 'restype:container'].join('\\n'); \
         const sign = c.createHmac('sha256', Buffer.from('{key}', 'base64')).update(text).digest('base64'); \
         fetch(u, {{method: 'PUT', headers: {{'x-ms-date': date, 'x-ms-version': '2023-11-03', \
         'Authorization': 'SharedKey devstoreaccount1:' + sign}}}}).then(async r => {{ \
         if (!r.ok) {{ console.error(r.status, await r.text()); process.exit(1); }} }});"
    );
    let output = Command::new("node").current_dir(modules).args(["-e", &script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
