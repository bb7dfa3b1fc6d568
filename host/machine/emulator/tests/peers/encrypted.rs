//! Encrypted connections, with libnbd and its GnuTLS on the other side.

use crate::Served;
use loadline_emulator::{Tls, TlsError};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Certificates of an authority, a server called localhost, and a client, made by openssl; `None`: it is not here.
pub(crate) fn certificates(folder: &Path) -> Option<PathBuf> {
    let folder = folder.join("pki");
    std::fs::create_dir(&folder).unwrap();
    let openssl = |words: &[&str]| {
        let output = Command::new("openssl").args(words).current_dir(&folder).output().ok()?;
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        Some(())
    };
    let ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650"];
    let authority = ["req", "-x509", "-subj", "/CN=authority", "-keyout", "ca-key.pem", "-out", "ca-cert.pem"];
    openssl(&[&authority[..], &ec].concat())?;
    for (name, names) in
        [("server", "subjectAltName=DNS:localhost,IP:127.0.0.1"), ("client", "subjectAltName=DNS:client")]
    {
        let (subject, key, request) = (format!("/CN={name}"), format!("{name}-key.pem"), format!("{name}.csr"));
        openssl(&[&["req", "-subj", &subject, "-keyout", &key, "-out", &request][..], &ec[..5]].concat())?;
        let (extensions, certificate) = (format!("{name}.ext"), format!("{name}-cert.pem"));
        std::fs::write(folder.join(&extensions), format!("{names}\n")).unwrap();
        let sign = ["x509", "-req", "-CA", "ca-cert.pem", "-CAkey", "ca-key.pem", "-CAcreateserial", "-days", "3650"];
        openssl(&[&sign[..], &["-in", &request, "-extfile", &extensions, "-out", &certificate]].concat())?;
    }
    Some(folder)
}

/// The folder that a client uses, without some of the files.
fn without(folder: &Path, name: &str, missing: &[&str]) -> PathBuf {
    let own = folder.join(name);
    std::fs::create_dir(&own).unwrap();
    for file in ["ca-cert.pem", "client-cert.pem", "client-key.pem"].iter().filter(|file| !missing.contains(file)) {
        std::fs::copy(folder.join(file), own.join(file)).unwrap();
    }
    own
}

fn run(program: &str, words: &[&str]) -> Option<Output> {
    let output = Command::new("timeout").arg("60").arg(program).args(words).output().ok()?;
    (output.status.code() != Some(127)).then_some(output)
}

/// An emulation that takes encrypted connections, its address, and the certificates; `None` where the programs are missing.
fn served(clients_too: bool) -> Option<(Served, SocketAddr, PathBuf)> {
    let mut served = Served::new();
    let Some(folder) = certificates(served.folder.path()) else {
        println!("skipped: openssl is not here");
        return None;
    };
    if run("nbdinfo", &["--version"]).is_none() {
        println!("skipped: nbdinfo is not here");
        return None;
    }
    served.emulation.encrypt(Tls::read(&folder, clients_too).unwrap());
    served.emulation.listen_unix(&served.path("encrypted")).unwrap();
    let address = served.emulation.listen_tcp("127.0.0.1:0".parse().unwrap()).unwrap();
    Some((served, address, folder))
}

#[test]
fn clients_with_certificates_copy_over_encrypted_connections() {
    let Some((served, address, folder)) = served(true) else { return };
    let port = address.port();
    let tcp = format!("nbds://localhost:{port}/data?tls-certificates={}", folder.display());
    let unix = format!(
        "nbds+unix://localhost/data?socket={}&tls-certificates={}",
        served.path("encrypted").display(),
        folder.display()
    );
    for uri in [&tcp, &unix] {
        let info = run("nbdinfo", &[uri]).unwrap();
        let told = String::from_utf8_lossy(&info.stdout).into_owned();
        assert!(info.status.success() && told.contains("with TLS"), "{told}{}", String::from_utf8_lossy(&info.stderr));
    }
    let image = served.image();
    let back = served.path("back");
    for (from, to) in [(image.display().to_string(), tcp), (unix, back.display().to_string())] {
        let copied = run("nbdcopy", &[&from, &to]).unwrap();
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    }
    assert!(std::fs::read(image).unwrap() == std::fs::read(back).unwrap());
}

#[test]
fn whoever_does_not_encrypt_or_is_not_known_learns_nothing() {
    let Some((served, address, folder)) = served(true) else { return };
    let port = address.port();
    let plain = run("nbdinfo", &[&format!("nbd://localhost:{port}/data")]).unwrap();
    let told = String::from_utf8_lossy(&plain.stderr).into_owned();
    assert!(!plain.status.success() && !String::from_utf8_lossy(&plain.stdout).contains("export-size"), "{told}");
    let unknown = without(&folder, "unknown", &["client-cert.pem", "client-key.pem"]);
    let uri = format!("nbds://localhost:{port}/data?tls-certificates={}", unknown.display());
    assert!(!run("nbdinfo", &[&uri]).unwrap().status.success());
    let begun = std::time::Instant::now();
    let mut refused: Vec<String> = Vec::new();
    while refused.len() < 2 && begun.elapsed().as_secs() < 120 {
        refused.extend(served.emulation.take_refused().0.iter().map(ToString::to_string));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(
        refused[0].contains("client, 127.0.0.1:") && refused[0].contains("this address takes TLS only"),
        "{refused:?}"
    );
    assert!(refused[1].contains("the TLS handshake failed: "), "{refused:?}");
    // Over the unix socket encryption is offered, not demanded.
    let open = format!("nbd+unix:///data?socket={}", served.path("encrypted").display());
    assert!(run("nbdinfo", &[&open]).unwrap().status.success());
}

#[test]
fn certificates_that_cannot_be_used_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Tls::read(folder.path(), false).unwrap_err().to_string();
    assert!(missing.contains("server-cert.pem"), "{missing}");
    let Some(folder) = certificates(folder.path()) else {
        println!("skipped: openssl is not here");
        return;
    };
    std::fs::copy(folder.join("client-key.pem"), folder.join("server-key.pem")).unwrap();
    assert!(matches!(Tls::read(&folder, false), Err(TlsError::Unfit { .. })));
}
