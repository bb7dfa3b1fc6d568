//! Threads of an emulation that run as soon as they wake.

use crate::Bench;
use crate::devices::wait_until;
use crate::emulate::{end, start};
use crate::nbd_client::{connected, head};
use std::io::{Read, Write};
use std::process::Command;

/// The scheduling policy of every thread whose name begins so: 0 the normal one, 1 the real-time class.
fn policies(process: u32, name: &str) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let policy = |thread: std::fs::DirEntry| {
        // One that ends meanwhile is none.
        let read = |file: &str| std::fs::read_to_string(thread.path().join(file)).ok();
        let stat = read("comm")?.starts_with(name).then(|| read("stat"))??;
        // The fields from the third on come behind the name, which is in brackets; the policy is the forty-first.
        Some(stat.rsplit(')').next().unwrap().split_whitespace().nth(38).unwrap().parse().unwrap())
    };
    threads.flatten().filter_map(policy).collect()
}

#[test]
fn whoever_takes_requests_and_delivers_answers_does_not_wait_for_a_turn_where_the_system_lets_it() {
    let may = Command::new("chrt").args(["-f", "1", "true"]).output().is_ok_and(|output| output.status.success());
    if !may {
        println!("the real-time class is not to be had here: every thread is to stay normal");
    }
    for (more, deliverer, client, named) in [
        (&[][..], may, may, "real-time"),
        // It would keep all others off its processor.
        (&["--spin"], false, may, "as-given"),
        (&["--no-haste"], false, false, "as-given"),
    ] {
        let bench = Bench::new();
        let child = start(&bench, more);
        let mut stream = connected(&bench.path("s"));
        stream.write_all(&head(0, 0, 512)).unwrap();
        stream.read_exact(&mut [0; 16 + 512]).unwrap();
        // Whoever found out that the socket accepts was a client too, and may be leaving still.
        assert!(wait_until(|| policies(child.id(), "client").len() == 1), "{more:?}");
        assert_eq!(policies(child.id(), "deliverer"), [u32::from(deliverer)], "{more:?}");
        assert_eq!(policies(child.id(), "client"), [u32::from(client)], "{more:?}");
        for normal in ["loadline", "viewer", "listener", "control"] {
            assert!(policies(child.id(), normal).iter().all(|policy| *policy == 0), "{normal}, {more:?}");
        }
        drop(stream);
        let (status, _, err) = end(child, "-TERM");
        assert_eq!(status, 0, "{err}");
        let run = bench.last();
        let turns = run["run"]["settings"]["turns"].as_str().unwrap_or_default();
        assert!(turns == named || !may && ["short-slices", "as-given"].contains(&turns), "{turns}: {more:?}");
        assert_eq!(crate::schema_errors(&run), Vec::<String>::new());
    }
}
