//! Clients that nobody here wrote: libnbd's tools, QEMU's and fio.

mod encrypted;
mod tester;

use loadline_disk::{DiskSpec, EnvironmentSpec, InitialState, Latency, LatencySpec, Layout, VolumeSpec};
use loadline_emulator::{Backing, Emulation, EmulationSettings};
use loadline_units::{Bytes, Duration};
use std::path::PathBuf;
use std::process::{Command, Output};

/// A stripe of two disks of 64 MiB, whose requests take about 0.1 ms, on a socket in a folder of its own.
struct Served {
    emulation: Emulation,
    folder: tempfile::TempDir,
}

impl Served {
    fn new() -> Self {
        let spec =
            LatencySpec { median: Duration::from_us(100), p99: Duration::from_us(300), ..LatencySpec::default() };
        let latency = Latency { read: spec, write: spec, flush: None };
        let disk = DiskSpec { size: Some(Bytes::mib(64)), latency, ..DiskSpec::default() };
        let volume = VolumeSpec {
            name: "data".into(),
            disks: vec![disk; 2],
            layout: Layout::Stripe { columns: 2, interleave: Bytes::kib(64) },
            ..VolumeSpec::default()
        };
        let environment = EnvironmentSpec { name: "test".into(), volumes: vec![volume], ..EnvironmentSpec::default() };
        let backing = Backing::Memory { max: Bytes::gib(1) };
        let settings = EmulationSettings {
            seed: 1,
            initial: InitialState::default(),
            backing,
            trace: None,
            write_cache: Bytes::mib(16),
            lie_about_flush: false,
            spin: false,
            hasten: true,
        };
        let folder = tempfile::tempdir().unwrap();
        let mut emulation = Emulation::start(&environment, &settings).unwrap();
        emulation.listen_unix(&folder.path().join("s")).unwrap();
        Self { emulation, folder }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    fn uri(&self, export: &str) -> String {
        format!("nbd+unix:///{export}?socket={}", self.path("s").display())
    }
    /// 128 MiB with data and holes.
    fn image(&self) -> PathBuf {
        let path = self.path("image");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(128 << 20).unwrap();
        let mut state: u64 = 88_172_645_463_325_252;
        for piece in (0..512u64).filter(|piece| piece % 5 != 0) {
            let mut bytes = vec![0u8; 128 << 10];
            for word in bytes.chunks_exact_mut(8) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                word.copy_from_slice(&state.to_le_bytes());
            }
            std::os::unix::fs::FileExt::write_all_at(&file, &bytes, piece * (256 << 10)).unwrap();
        }
        path
    }
}

/// Runs a peer; `None`, said by name, where it is not installed.
fn peer(program: &str, arguments: &[&str]) -> Option<Output> {
    // Debian's Python has its modules; another one that comes first in the user's path may not.
    let path = format!("/usr/bin:/bin:{}", std::env::var("PATH").unwrap_or_default());
    match Command::new(program).args(arguments).env("PATH", path).output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("skipped: {program} is not here");
            None
        }
        Err(error) => panic!("{program}: {error}"),
    }
}

fn well(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}{}", output.status, text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn same(one: &std::path::Path, other: &std::path::Path) -> bool {
    std::fs::read(one).unwrap() == std::fs::read(other).unwrap()
}

#[test]
fn nbdinfo_lists_every_volume_and_disk() {
    let served = Served::new();
    let uri = served.uri("");
    let Some(output) = peer("nbdinfo", &["--list", &uri]) else { return };
    let text = well(&output);
    for export in ["export=\"data\"", "export=\"data/0\"", "export=\"data/1\""] {
        assert!(text.contains(export), "{text}");
    }
    for able in ["can_fua: true", "can_df: true", "can_fast_zero: true", "can_multi_conn: true", "base:allocation"] {
        assert_eq!(text.matches(able).count(), 3, "{able}: {text}");
    }
    assert_eq!(text.matches("export-size: 134217728 (128M)").count(), 1, "{text}");
    assert_eq!(text.matches("export-size: 67108864 (64M)").count(), 2, "{text}");
    let map = well(&peer("nbdinfo", &["--map", &uri]).unwrap());
    assert_eq!(map.split_whitespace().collect::<Vec<_>>(), ["0", "134217728", "3", "hole,zero"]);
}

#[test]
fn nbdcopy_brings_back_what_it_brought() {
    let served = Served::new();
    let (image, back) = (served.image(), served.path("back"));
    std::fs::File::create(&back).unwrap().set_len(128 << 20).unwrap();
    let uri = served.uri("data");
    let Some(output) = peer("nbdcopy", &["--flush", image.to_str().unwrap(), &uri]) else { return };
    well(&output);
    well(&peer("nbdcopy", &[&uri, back.to_str().unwrap()]).unwrap());
    assert!(same(&image, &back), "what came back differs");
    // Holes were kept: memory is used for the data alone.
    assert!(served.emulation.memory() < Bytes::mib(56), "{}", served.emulation.memory());
}

#[test]
fn nbdsh_uses_every_command_and_flag() {
    let served = Served::new();
    let script = served.path("script.py");
    std::fs::write(&script, include_str!("commands.py")).unwrap();
    let program = format!("exec(open({:?}).read())", script.display().to_string());
    let uri = format!("uri = {:?}", served.uri("data"));
    let Some(output) = peer("nbdsh", &["-c", &uri, "-c", &program]) else { return };
    let text = well(&output);
    assert_eq!(text.lines().last(), Some("every command and flag"), "{text}");
}

#[test]
fn qemu_img_converts_and_compares() {
    let served = Served::new();
    let (image, uri) = (served.image(), served.uri("data"));
    let image = image.to_str().unwrap();
    let Some(output) = peer("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", image, &uri]) else { return };
    well(&output);
    well(&peer("qemu-img", &["compare", "-f", "raw", "-F", "raw", image, &uri]).unwrap());
    let map = well(&peer("qemu-img", &["map", "--output=json", "-f", "raw", &uri]).unwrap());
    assert!(map.contains("\"zero\": true") && map.contains("\"zero\": false"), "{map}");
    let bench = ["bench", "-f", "raw", "-c", "2000", "-d", "16", "-s", "4096", "--flush-interval=100", "-w", &uri];
    well(&peer("qemu-img", &bench).unwrap());
}

#[test]
fn qemu_io_writes_reads_and_verifies() {
    let served = Served::new();
    let uri = served.uri("data/1");
    let commands = [
        "write -P 0x5a 4096 1M",
        "read -P 0x5a 4096 1M",
        "write -f -P 0xa5 0 4k",
        "read -P 0xa5 0 4k",
        "write -z -u 512k 64k",
        "read -P 0 512k 64k",
        "discard 1M 4k",
        "flush",
        "aio_write -P 0x11 2M 512k",
        "aio_read -P 0x5a 8192 64k",
        "aio_flush",
        "read -P 0x11 2M 512k",
    ];
    let mut arguments = vec!["-f", "raw"];
    arguments.extend(commands.iter().flat_map(|command| ["-c", *command]));
    arguments.push(&uri);
    let Some(output) = peer("qemu-io", &arguments) else { return };
    let text = well(&output);
    assert!(!text.contains("failed") && !text.contains("error"), "{text}");
}

#[test]
fn fio_finds_every_block_as_it_wrote_it() {
    let served = Served::new();
    let uri = format!("--uri={}", served.uri("data"));
    let arguments = [
        "--name=verify",
        "--ioengine=nbd",
        &uri,
        "--rw=randwrite",
        "--bs=4k",
        "--size=32M",
        "--iodepth=32",
        "--verify=crc32c",
        "--verify_fatal=1",
        "--do_verify=1",
        "--randseed=1",
        "--output-format=json",
    ];
    let folder = served.folder.path();
    let Ok(output) = Command::new("fio").args(arguments).current_dir(folder).output() else {
        println!("skipped: fio is not here");
        return;
    };
    if String::from_utf8_lossy(&output.stderr).contains("engine nbd not loadable") {
        println!("skipped: this fio has no nbd engine");
        return;
    }
    let text = well(&output);
    assert!(text.contains("\"total_ios\" : 8192"), "{text}");
    assert_eq!(served.emulation.figures()[0].errors_total(), 0);
}
