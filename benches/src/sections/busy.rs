//! The CPU cost of busy emulated disks with real figures: one, and eight behind one machine's budgets.

use super::truth::{SPAN, case, fill, fio, load_words};
use crate::bench::Bench;
use crate::process;
use crate::server::{Server, settle};
use crate::statistics::{MedianSpread, median};
use crate::table::{FigureTable, Goal};
use anyhow::{Context, Result};
use loadline_block::Operation;
use loadline_catalog::{Catalog, Draw, Environment};
use loadline_disk::EnvironmentSpec;
use loadline_units::{Bytes, Duration};

/// About as long as a P30 at depth 8 leaves between two answers.
const BETWEEN: Duration = Duration::from_us(300);

/// CPU of a busy disk and of eight, as a share of a core.
const CPU_ONE: f64 = 0.05;
const CPU_EIGHT: f64 = 0.25;

fn sold(text: &str) -> Result<EnvironmentSpec> {
    Ok(Environment::parse(text, "the benchmark", &Catalog::builtin())?.spec(&Draw::MIDDLE))
}

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let mut table = FigureTable::new(
        "busy: what busy disks as sold cost, 4 KiB random reads: the emulation's CPU, as a share of a core",
        &["", "IOPS", "CPU", "goal", "", "late p50, p99"],
    );
    let one = "schema = 1\nname = \"p30\"\n[volume.v0]\ndisks = [{ sku = \"azure/premium-p30\" }]\n".to_owned();
    let volume = |number: u32| format!("[volume.v{number}]\ndisks = [{{ sku = \"azure/premium-p30\" }}]\n");
    let volumes: Vec<String> = (0..8).map(volume).collect();
    let eight = format!("schema = 1\nname = \"eight\"\nvm = \"azure/d16s-v3\"\n{}", volumes.concat());
    let rows = [
        ("a P30, depth 8", &one, 1, 8, CPU_ONE),
        ("a P30, depth 64", &one, 1, 64, CPU_ONE),
        ("a P30, depth 256", &one, 1, 256, CPU_ONE),
        ("eight P30 behind a D16s v3, depth 8 each", &eight, 8, 8, CPU_EIGHT),
        ("eight P30 behind a D16s v3, depth 64 each", &eight, 8, 64, CPU_EIGHT),
    ];
    for (name, text, volumes, depth, most) in rows {
        let environment = sold(text)?;
        let folder = tempfile::tempdir()?;
        let mut server = Server::emulating(&environment, folder.path().join("s"), None, Bytes::gib(4))?;
        for volume in 0..volumes {
            fill(bench, &server.socket, &format!("v{volume}"))?;
        }
        let (mut rates, mut shares, mut late) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
        bench.rounds(1, |bench, _| {
            settle(&bench.stop)?;
            let case = case(Operation::Read, 4, depth);
            let duration = bench.arguments.length;
            // A job for each volume, with its own connection.
            let mut command = fio(&server.socket, "v0", &load_words(case, duration));
            for volume in 1..volumes {
                command.arg(format!("--name=y{volume}")).args(["--ioengine=nbd", "--randrepeat=1"]);
                command.arg(format!("--uri=nbd+unix:///v{volume}?socket={}", server.socket.display()));
                command.arg(format!("--size={}", SPAN.get())).args(load_words(case, duration));
            }
            let (before, cpu) = (server.lateness()?, server.cpu_s()?);
            let ended = process::run(&mut command, &bench.stop)?;
            shares.push((server.cpu_s()? - cpu) / duration.as_s_f64());
            let after = server.lateness()?.since(&before);
            late[0].extend(after.quantile_us(0.5));
            late[1].extend(after.quantile_us(0.99));
            rates.push(total_rate(&ended.stdout)?);
            Ok(())
        })?;
        let share = MedianSpread::of(&shares).context("no rounds")?;
        let mark = bench.verdicts.judge(&format!("busy, {name}, CPU of a core"), share.median, Goal::AtMost(most));
        let [p50, p99] = late.map(|figures| median(&figures).unwrap_or_default());
        table.row(bench.marked(vec![
            name.to_owned(),
            format!("{:.0}", median(&rates).unwrap_or_default()),
            share.to_string(),
            format!("<= {most}"),
            mark.to_owned(),
            format!("{p50:.0}, {p99:.0} us"),
        ]));
    }
    // The least that an answer can cost which is due when nothing else is: without a wait that spins, something must wake.
    let waking = process::core_time_of_waking(BETWEEN)?.as_ns() as f64 / 1e3;
    let goal = CPU_ONE / 5_000.0 * 1e6;
    table.note(format!(
        "A thread that sleeps for {} us and wakes, and does nothing else, costs {waking:.1} us of core time each time on this \
         machine; the goal leaves {goal:.0} us for each request of a P30.",
        BETWEEN.as_ns() / 1_000,
    ));
    bench.print(table)
}

/// Of all jobs of a fio together.
fn total_rate(printed: &str) -> Result<f64> {
    let start = printed.find('{').context("fio printed no JSON")?;
    let told: serde_json::Value = serde_json::from_str(&printed[start..]).context("fio's JSON cannot be read")?;
    let jobs = told["jobs"].as_array().context("fio's JSON has no jobs")?;
    Ok(jobs.iter().filter_map(|job| job["read"]["iops"].as_f64()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_as_sold_are_read_from_the_catalog() {
        let text = "schema = 1\nname = \"p\"\nvm = \"azure/d16s-v3\"\n[volume.v0]\ndisks = [{ sku = \"azure/premium-p30\" }]\n";
        assert!(sold(text).unwrap().vm.is_some());
    }

    #[test]
    fn the_jobs_of_a_fio_are_added_up() {
        let printed = r#"fio: note
{"jobs": [{"read": {"iops": 4999.5}}, {"read": {"iops": 0.5}}]}"#;
        assert_eq!(total_rate(printed).unwrap() as u64, 5_000);
    }
}
