//! Connections encrypted by keys shared in advance (TLS-PSK), with GnuTLS (libnbd, QEMU) and OpenSSL on the other side.

use crate::{Served, peer, same, well};
use loadline_emulator::Tls;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

const ALICE: &str = "9f3c5e07d1a8b24690e1f7c3a5d2b48816273f4e5a6b7c8d9e0fa1b2c3d4e5f6";
const BOB: &str = "00112233445566778899aabbccddeeff";

/// An emulation whose clients have keys.
struct Keyed {
    served: Served,
    address: SocketAddr,
    /// The folder of the file, as QEMU takes it.
    folder: PathBuf,
}

impl Keyed {
    fn new() -> Self {
        let mut served = Served::new();
        let folder = served.path("keys");
        write_keys(&folder, &format!("alice:{ALICE}\nbob:{BOB}\n"));
        let (tls, _) = Tls::read_keys(&folder).unwrap();
        served.emulation.encrypt(tls);
        served.emulation.listen_unix(&served.path("encrypted")).unwrap();
        let address = served.emulation.listen_tcp("127.0.0.1:0".parse().unwrap()).unwrap();
        Self { served, address, folder }
    }
    fn tcp(&self, user: &str, folder: &Path) -> String {
        format!("nbds://{user}@{}/data?tls-psk-file={}/keys.psk", self.address, folder.display())
    }
    fn unix(&self, user: &str) -> String {
        let socket = self.served.path("encrypted");
        format!("nbds+unix://{user}@/data?socket={}&tls-psk-file={}/keys.psk", socket.display(), self.folder.display())
    }
    /// A connection over TCP whose next bytes are TLS.
    fn begun(&self) -> TcpStream {
        let mut client = TcpStream::connect(self.address).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut greeting = [0; 18];
        client.read_exact(&mut greeting).unwrap();
        client
            .write_all(&[&3u32.to_be_bytes()[..], b"IHAVEOPT", &5u32.to_be_bytes(), &0u32.to_be_bytes()].concat())
            .unwrap();
        let mut answer = [0; 20];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(answer[12..16], 1u32.to_be_bytes(), "STARTTLS is answered");
        client
    }
    /// Whether openssl, a client that was not made for NBD, comes to an agreement, and what it tells; `None`, said by name: it is
    /// not here.
    fn handshake(&self, words: &[&str]) -> Option<(bool, String)> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = self.begun();
        // Ends with the client, or with this test's program.
        std::thread::spawn(move || {
            let client = listener.accept().unwrap().0;
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let there = std::thread::spawn(move || {
                std::io::copy(&mut from, &mut to).map(|_| to.shutdown(std::net::Shutdown::Write))
            });
            let (mut from, mut to) = (server, client);
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Both);
            let _ = there.join();
        });
        // It leaves at the end of its input.
        let words = [&["60", "openssl", "s_client", "-connect", &address, "-psk_identity", "alice"], words].concat();
        let output = peer("timeout", &words)?;
        if output.status.code() == Some(127) {
            println!("skipped: openssl is not here");
            return None;
        }
        Some((output.status.success(), told(&output)))
    }
}

fn write_keys(folder: &Path, lines: &str) {
    std::fs::create_dir(folder).unwrap();
    std::fs::write(folder.join("keys.psk"), lines).unwrap();
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn nbdcopy_brings_back_what_it_brought_over_tls_psk() {
    let keyed = Keyed::new();
    let (image, back) = (keyed.served.image(), keyed.served.path("back"));
    std::fs::File::create(&back).unwrap().set_len(128 << 20).unwrap();
    let (tcp, unix) = (keyed.tcp("alice", &keyed.folder), keyed.unix("bob"));
    for uri in [&tcp, &unix] {
        let Some(info) = peer("nbdinfo", &[uri]) else { return };
        assert!(well(&info).contains("with TLS"), "{}", told(&info));
    }
    for (to, from) in [(&tcp, &unix), (&unix, &tcp)] {
        well(&peer("nbdcopy", &["--flush", image.to_str().unwrap(), to]).unwrap());
        well(&peer("nbdcopy", &[from, back.to_str().unwrap()]).unwrap());
        assert!(same(&image, &back), "what came back differs");
    }
}

#[test]
fn nbdsh_uses_every_command_and_flag_over_tls_psk() {
    // Each on an empty disk. The scheme of the URI demands TLS.
    for over_tcp in [true, false] {
        let keyed = Keyed::new();
        let script = keyed.served.path("script.py");
        std::fs::write(&script, include_str!("commands.py")).unwrap();
        let program = format!("exec(open({:?}).read())", script.display().to_string());
        let uri = if over_tcp { keyed.tcp("alice", &keyed.folder) } else { keyed.unix("alice") };
        let Some(output) = peer("nbdsh", &["-c", &format!("uri = {uri:?}"), "-c", &program]) else { return };
        let text = well(&output);
        assert_eq!(text.lines().last(), Some("every command and flag"), "{text}");
    }
}

#[test]
fn qemu_img_converts_and_compares_over_tls_psk() {
    let keyed = Keyed::new();
    let image = keyed.served.image();
    for version in ["1.2", "1.3"] {
        let credentials = format!(
            "tls-creds-psk,id=tls,endpoint=client,username=alice,dir={},priority=NORMAL:-VERS-ALL:+VERS-TLS{version}",
            keyed.folder.display()
        );
        let export = format!(
            "driver=raw,file.driver=nbd,file.host=127.0.0.1,file.port={},file.export=data,file.tls-creds=tls",
            keyed.address.port()
        );
        let own = format!("driver=raw,file.filename={}", image.display());
        let convert = ["convert", "-n", "--object", &credentials, "--image-opts", "--target-image-opts", &own, &export];
        let Some(output) = peer("qemu-img", &convert) else { return };
        well(&output);
        let compared =
            well(&peer("qemu-img", &["compare", "--object", &credentials, "--image-opts", &own, &export]).unwrap());
        assert!(compared.contains("identical"), "{compared}");
    }
}

#[test]
fn libnbd_gets_in_by_tls_1_3_and_by_tls_1_2_alone() {
    let keyed = Keyed::new();
    let uri = keyed.tcp("alice", &keyed.folder);
    let info = |without: &[&str]| {
        let file = keyed.served.path("priorities");
        let lines = without.iter().map(|version| format!("disabled-version = tls{version}\n"));
        std::fs::write(&file, format!("[overrides]\n{}", lines.collect::<String>())).unwrap();
        Command::new("nbdinfo").arg(&uri).env("GNUTLS_SYSTEM_PRIORITY_FILE", file).output()
    };
    let Ok(newest) = info(&["1.0", "1.1", "1.2"]) else {
        println!("skipped: nbdinfo is not here");
        return;
    };
    let old = info(&["1.2", "1.3"]).unwrap();
    if old.status.success() {
        println!("skipped: this GnuTLS is not told by a file which versions to leave out");
        return;
    }
    assert!(well(&newest).contains("with TLS"));
    assert!(well(&info(&["1.0", "1.1", "1.3"]).unwrap()).contains("with TLS"));
}

#[test]
fn suites_are_those_that_keep_what_was_recorded_secret() {
    const REFUSED: &str = "";
    let keyed = Keyed::new();
    for (words, suite) in [
        (&["-psk", ALICE][..], "TLSv1.3, Cipher is TLS_AES_128_GCM_SHA256"),
        (&["-psk", ALICE, "-tls1_2"], "TLSv1.2, Cipher is ECDHE-PSK-CHACHA20-POLY1305"),
        (
            &["-psk", ALICE, "-tls1_2", "-cipher", "ECDHE-PSK-AES128-CBC-SHA256"],
            "Cipher is ECDHE-PSK-AES128-CBC-SHA256",
        ),
        (&["-psk", ALICE, "-tls1_2", "-cipher", "PSK-AES128-GCM-SHA256"], REFUSED),
        (&["-psk", ALICE, "-tls1_2", "-cipher", "ECDHE-PSK-NULL-SHA256:@SECLEVEL=0"], REFUSED),
        (&["-psk", ALICE, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], REFUSED),
        // The key of somebody else.
        (&["-psk", BOB], REFUSED),
        (&["-psk", BOB, "-tls1_2"], REFUSED),
    ] {
        let Some((agreed, text)) = keyed.handshake(words) else { return };
        assert_eq!(agreed, suite != REFUSED, "{words:?}: {text}");
        assert!(!agreed || text.contains(suite), "{words:?}: {text}");
    }
}

#[test]
fn whoever_has_no_key_learns_nothing_and_harms_nobody() {
    let keyed = Keyed::new();
    let good = keyed.tcp("alice", &keyed.folder);
    let Some(before) = peer("nbdinfo", &[&good]) else { return };
    well(&before);
    let (wrong, unknown) = (keyed.served.path("wrong"), keyed.served.path("unknown"));
    write_keys(&wrong, &format!("alice:{BOB}\n"));
    write_keys(&unknown, &format!("eve:{ALICE}\n"));
    let plain = format!("nbd://{}/data", keyed.address);
    for uri in [&keyed.tcp("alice", &wrong), &keyed.tcp("eve", &unknown), &plain] {
        let refused = peer("nbdinfo", &[uri]).unwrap();
        let text = told(&refused);
        assert!(
            !refused.status.success() && !text.contains("export-size") && !text.contains("stripe"),
            "{uri}: {text}"
        );
        well(&peer("nbdinfo", &[&good]).unwrap());
    }
    // Whoever runs it learns of each.
    let begun = std::time::Instant::now();
    let mut refused: Vec<String> = Vec::new();
    while refused.len() < 3 && begun.elapsed().as_secs() < 20 {
        refused.extend(keyed.served.emulation.take_refused().0.iter().map(ToString::to_string));
        std::thread::sleep(Duration::from_millis(5));
    }
    let count = |what: &str| refused.iter().filter(|told| told.contains(what)).count();
    assert_eq!((count("the user is not among the keys"), count("takes TLS only")), (2, 1), "{refused:?}");
    // Over the unix socket encryption is offered, not demanded.
    let open = format!("nbd+unix:///data?socket={}", keyed.served.path("encrypted").display());
    well(&peer("nbdinfo", &[&open]).unwrap());
}

#[test]
fn who_stops_in_the_midst_of_a_handshake_or_sends_no_tls_harms_nobody() {
    let keyed = Keyed::new();
    // The beginning of a client's first message: 512 bytes are to follow, and do not come.
    let stopped = (0..40).map(|count| {
        let mut client = keyed.begun();
        let beginning = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
        client.write_all(&beginning[..count % (beginning.len() + 1)]).unwrap();
        client
    });
    let stopped: Vec<TcpStream> = stopped.collect();
    for garbage in
        [&[0xff; 4_096][..], b"IHAVEOPT\0\0\0\x03\0\0\0\0", b"GET / HTTP/1.1\r\n\r\n", &[0x16, 3, 1, 0xff, 0xff]]
    {
        let mut client = keyed.begun();
        client.write_all(garbage).unwrap();
        let mut answer = Vec::new();
        // An alert at most; then the end, which may be told as a reset, for bytes were left unread.
        let _ = client.read_to_end(&mut answer);
        assert!(answer.len() < 16, "{answer:?}");
    }
    let served = |uri: &str| peer("nbdinfo", &[uri]).map(|output| well(&output));
    if served(&keyed.tcp("alice", &keyed.folder)).is_none() {
        return;
    }
    drop(stopped);
    served(&keyed.unix("bob"));
    // Its end waits for nobody.
    let still = keyed.begun();
    keyed.served.emulation.end().unwrap();
    drop(still);
}
