//! What clients get is what the model says.

use crate::client::{Ask, Client};
use crate::{Served, limited, slow};
use loadline_emulator::protocol::request::code;
use loadline_units::Duration;

/// Reads of 4 KiB, `depth` at a time, until `count` were answered.
fn closed_loop(client: &mut Client, depth: u64, count: u64) {
    let ask = |number: u64| Ask {
        kind: code::READ,
        cookie: number,
        offset: number % 1_000 * 4_096,
        length: 4_096,
        ..Ask::default()
    };
    for number in 0..depth {
        client.ask(ask(number), &[]);
    }
    for number in depth..count + depth {
        let (error, _) = client.reply();
        assert_eq!(error, 0);
        client.take(4_096);
        if number < count {
            client.ask(ask(number), &[]);
        }
    }
}

#[test]
fn a_modelled_rate_is_the_rate_that_is_delivered() {
    let served = Served::new(&limited(5_000));
    let mut client = Client::simple(&served.socket(), "data");
    closed_loop(&mut client, 64, 10_000);
    let figures = served.emulation.figures().swap_remove(0);
    assert_eq!(figures.requests(), 10_000);
    // In the model's own time, in which a busy machine changes nothing as long as requests wait in the queue.
    let iops = figures.iops().unwrap();
    assert!((4_950.0..=5_050.0).contains(&iops), "{iops} IOPS of 5,000");
}

#[test]
fn no_answer_comes_before_its_time() {
    let served = Served::new(&slow(Duration::from_ms(5)));
    let mut client = Client::simple(&served.socket(), "data");
    let begun = std::time::Instant::now();
    for _ in 0..20 {
        client.read(0, 512);
    }
    assert!(begun.elapsed().as_millis() >= 100);
    let figures = served.emulation.figures().swap_remove(0);
    assert_eq!(figures.latency().quantile(0.5), Some(Duration::from_ms(5)));
    assert_eq!(figures.lateness.count(), 20);
}
