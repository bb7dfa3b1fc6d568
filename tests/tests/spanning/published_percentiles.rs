//! Closed loops at a limit of EBS volumes, as others published them: what the model makes of the same environment and load. Nothing of
//! the model is given here but the names of products.

use loadline_block::Operation;
use loadline_catalog::Draw;
use loadline_tests::measured::measure_draw;

/// What was told: environment, load, and p50, p90 and p99 in ms.
struct Published {
    what: &'static str,
    vm: &'static str,
    disks: &'static str,
    stripe: Option<(u32, &'static str)>,
    threads: u32,
    depth: u32,
    block: &'static str,
    operation: Operation,
    seconds: u32,
    measured: [f64; 3],
}

const ONE: Published = Published {
    what: "",
    vm: "",
    disks: "",
    stripe: None,
    threads: 16,
    depth: 16,
    block: "16 KiB",
    operation: Operation::Write,
    seconds: 10,
    measured: [0.0; 3],
};

/// github.com/miztiik/ebs-gp3-perf, 2020-12. The machine was not told, but 120 requests were on their way to each volume.
fn miztiik() -> Vec<Published> {
    const SMALL: &str =
        "{ sku = \"aws/gp3@2023\", size = \"100 GiB\", iops = \"4000 IOPS\", throughput = \"1000 MiB/s\" }";
    const LARGE: &str =
        "{ sku = \"aws/gp3@2023\", size = \"100 GiB\", iops = \"16000 IOPS\", throughput = \"1000 MiB/s\" }";
    const IO2: &str = "{ sku = \"aws/io2-block-express\", size = \"400 GiB\", iops = \"16000 IOPS\" }";
    const TWO: &str =
        "{ sku = \"aws/gp3@2023\", count = 2, size = \"100 GiB\", iops = \"4000 IOPS\", throughput = \"1000 MiB/s\" }";
    let rows: [(&str, &str, [f64; 3]); 22] = [
        (SMALL, "4 KiB", [46.848, 104.960, 164.864]),
        (SMALL, "8 KiB", [50.944, 105.984, 171.008]),
        (SMALL, "16 KiB", [49.408, 108.032, 168.960]),
        (SMALL, "32 KiB", [49.408, 105.984, 177.152]),
        (SMALL, "64 KiB", [49.408, 107.008, 166.912]),
        (SMALL, "128 KiB", [49.920, 105.984, 164.864]),
        (LARGE, "4 KiB", [11.200, 27.264, 43.776]),
        (LARGE, "8 KiB", [12.096, 28.032, 44.800]),
        (LARGE, "16 KiB", [12.224, 27.776, 44.288]),
        (LARGE, "32 KiB", [12.096, 27.776, 45.312]),
        (LARGE, "64 KiB", [12.224, 27.520, 43.776]),
        (LARGE, "128 KiB", [22.144, 57.600, 92.672]),
        (LARGE, "256 KiB", [48.384, 108.032, 175.104]),
        (IO2, "4 KiB", [9.664, 28.288, 47.360]),
        (IO2, "16 KiB", [10.688, 28.544, 47.872]),
        (IO2, "64 KiB", [11.328, 28.032, 45.824]),
        (TWO, "4 KiB", [24.448, 62.208, 112.128]),
        (TWO, "8 KiB", [26.240, 55.552, 96.768]),
        (TWO, "16 KiB", [25.984, 59.136, 107.008]),
        (TWO, "32 KiB", [25.728, 67.072, 115.200]),
        (TWO, "64 KiB", [25.472, 67.072, 116.224]),
        (TWO, "128 KiB", [25.216, 67.072, 115.200]),
    ];
    rows.into_iter()
        .map(|(disks, block, measured)| Published {
            what: "miztiik",
            disks,
            stripe: (disks == TWO).then_some((2, "512 KiB")),
            block,
            measured,
            ..ONE
        })
        .collect()
}

/// github.com/liangruibupt/ebs-benchmark-testing, 2019-08: runs of 180 s, of which 20 are enough to see their percentiles.
fn liangruibupt() -> Vec<Published> {
    const IO1: &str = "{ sku = \"aws/io1\", size = \"2048 GiB\", iops = \"40000 IOPS\" }";
    const FOUR_GP2: &str = "{ sku = \"aws/gp2\", count = 4, size = \"3000 GiB\" }";
    const FOUR_IO1: &str = "{ sku = \"aws/io1\", count = 4, size = \"500 GiB\", iops = \"11000 IOPS\" }";
    let (stripe, read) = (Some((4, "64 KiB")), Operation::Read);
    let of = Published { what: "liangruibupt", depth: 32, seconds: 20, ..ONE };
    vec![
        Published { vm: "aws/m5.8xlarge", disks: IO1, measured: [16.320, 21.888, 27.520], ..of },
        Published { vm: "aws/m5.8xlarge", disks: IO1, operation: read, measured: [16.320, 20.864, 24.960], ..of },
        Published { vm: "aws/m5.12xlarge", disks: IO1, measured: [11.968, 19.072, 25.472], ..of },
        Published { vm: "aws/m5.12xlarge", disks: IO1, operation: read, measured: [10.688, 20.096, 25.472], ..of },
        Published { vm: "aws/m5.12xlarge", disks: FOUR_GP2, stripe, measured: [12.608, 29.056, 45.312], ..of },
        Published {
            vm: "aws/m5.12xlarge",
            disks: FOUR_GP2,
            stripe,
            operation: read,
            measured: [12.864, 31.872, 52.480],
            ..of
        },
        Published { vm: "aws/m5.12xlarge", disks: FOUR_IO1, stripe, measured: [11.584, 23.424, 36.096], ..of },
        Published {
            vm: "aws/c4.xlarge",
            disks: "{ sku = \"aws/gp2\", size = \"100 GiB\" }",
            measured: [167.0, 167.0, 190.0],
            ..of
        },
    ]
}

/// github.com/bitofsky/aws-ebs-benchmark, 2021-05: gp2 of 1 TiB and gp3 of 3,000 IOPS.
fn bitofsky() -> Vec<Published> {
    const GP2: &str = "{ sku = \"aws/gp2\", size = \"1000 GiB\" }";
    const GP3: &str = "{ sku = \"aws/gp3@2023\", size = \"1000 GiB\" }";
    let read = Operation::Read;
    let of = Published { what: "bitofsky", depth: 1, seconds: 60, ..ONE };
    vec![
        Published { disks: GP2, operation: read, measured: [5.28, 5.74, 6.85], ..of },
        Published { disks: GP2, measured: [5.21, 5.74, 8.98], ..of },
        Published { disks: GP3, operation: read, measured: [5.34, 5.47, 6.00], ..of },
        Published { disks: GP3, measured: [5.34, 5.54, 7.11], ..of },
    ]
}

impl Published {
    fn environment(&self) -> String {
        let vm = if self.vm.is_empty() { String::new() } else { format!("vm = \"{}\"\n", self.vm) };
        let layout = self.stripe.map_or_else(String::new, |(columns, interleave)| {
            format!("layout = {{ stripe = {{ columns = {columns}, interleave = \"{interleave}\" }} }}\n")
        });
        format!("schema = 1\nname = \"published\"\n{vm}[volume.data]\ndisks = [{}]\n{layout}", self.disks)
    }

    fn plan(&self) -> String {
        let reads = if self.operation == Operation::Read { 100 } else { 0 };
        format!(
            "schema = 1\nname = \"published\"\n[[load]]\npattern = \"random\"\nreads = \"{reads} %\"\nblock = \"{}\"\n\
             queue_depth = {}\nthreads = {}\nsize = \"16 GiB\"\nwarm_up = \"0 s\"\nduration = \"{} s\"\ntrials = 1\n",
            self.block, self.depth, self.threads, self.seconds
        )
    }

    /// Predicted over measured, of p50, p90 and p99.
    fn ratios(&self) -> [f64; 3] {
        let record = measure_draw(&self.environment(), &self.plan(), 1, Draw::MIDDLE).record;
        let found = &record.cells[0].trials[0].of(self.operation).unwrap().latency;
        let at = [0.50, 0.90, 0.99].map(|share| found.quantile(share).unwrap().as_s_f64() * 1e3);
        let ratios: [f64; 3] = std::array::from_fn(|index| at[index] / self.measured[index]);
        println!(
            "{:13} {:16} {:9} {:>7} {:2} x {:2} {:5} measured {:?} predicted {:?} ratios {:?}",
            self.what,
            self.vm,
            self.disks.split('"').nth(1).unwrap(),
            self.block,
            self.threads,
            self.depth,
            self.operation.name(),
            self.measured.map(|v| (v * 10.0).round() / 10.0),
            at.map(|v| (v * 10.0).round() / 10.0),
            ratios.map(|v| (v * 100.0).round() / 100.0),
        );
        ratios
    }
}

fn within(ratios: &[[f64; 3]], index: usize) -> usize {
    ratios.iter().filter(|of| (of[index] - 1.0).abs() <= 0.25).count()
}

#[test]
fn percentiles_of_published_closed_loops_at_a_limit_come_out() {
    let ratios: Vec<[f64; 3]> =
        [miztiik(), liangruibupt(), bitofsky()].iter().flatten().map(Published::ratios).collect();
    let found = [0, 1, 2].map(|index| within(&ratios, index));
    println!("within 25 % of {}: p50 {}, p90 {}, p99 {}", ratios.len(), found[0], found[1], found[2]);
    assert!(found.iter().all(|found| *found * 10 >= ratios.len() * 9), "{found:?} of {}", ratios.len());
}
