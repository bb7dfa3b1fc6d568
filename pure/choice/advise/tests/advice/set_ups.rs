//! Published set-ups: each sold disk on a machine that does not bind, and worked examples of providers' pages. 0.9 of the
//! published limit is accepted there, and 1.1 refused with the right limit.

use crate::{accepts, on, quick, rates};
use loadline_advise::advise;
use loadline_catalog::{Catalog, Draw, Provisioned, SizeRule};
use loadline_disk::Directions;

/// A machine of each provider that carries more than any one disk of these.
const MACHINES: &[(&str, &str)] = &[("azure", "azure/e96bds-v5"), ("aws", "aws/m5.24xlarge")];
/// Rows that must come out right, of a hundred.
const RIGHT_MIN: usize = 95;

/// Worked examples: machine, disk, number, share of reads, block, the published rate, the limit that binds.
/// github.com/MicrosoftDocs/azure-docs, premium-storage-performance and disks-performance; AWS's pages of instances. What is
/// published with a burst beside it ends with its credits: `burst-exhausted`.
type Example = (&'static str, &'static str, u32, f64, u64, f64, &'static str);
const EXAMPLES: &[Example] = &[
    ("azure/d48s-v5", "azure/premium-p30", 1, 0.5, 8192, 5_000.0, "disk-iops"),
    ("azure/d48s-v5", "azure/premium-p30", 1, 0.5, 32_768, 5_000.0, "disk-iops"),
    ("azure/d48s-v5", "azure/premium-p30", 1, 0.5, 65_536, 3_200.0, "disk-throughput"),
    ("azure/d48s-v5", "azure/premium-p30", 1, 0.5, 1 << 20, 200.0, "disk-throughput"),
    ("azure/ds1", "azure/premium-p30", 1, 0.5, 8192, 3_200.0, "vm-uncached-iops"),
    ("azure/d8s-v3", "azure/standard-ssd-e30", 3, 0.5, 8192, 1_500.0, "burst-exhausted"),
    ("azure/d8s-v3", "azure/premium-p30", 3, 0.5, 8192, 12_800.0, "burst-exhausted"),
    ("aws/m5.large", "aws/gp3", 2, 1.0, 16_384, 3_600.0, "burst-exhausted"),
    ("azure/d4s-v5", "azure/premium-p30", 2, 0.5, 8192, 6_400.0, "burst-exhausted"),
];

/// Whether a set-up is accepted at 0.9 of a rate, and at 1.1 of it refused with a limit of one of these names.
fn is_right(catalog: &Catalog, example: &Example) -> Result<(), String> {
    let (machine, disk, count, reads, block, published, limit) = *example;
    let mut need = on(machine, disk, count, rates(0.9 * published, reads, block));
    // No more than the smallest of the disks holds.
    need.size = loadline_units::Bytes::gib(1);
    let advice = advise(&need, catalog, &quick()).map_err(|error| error.to_string())?;
    if !(1..=count).any(|count| accepts(&advice, machine, disk, count)) {
        return Err(format!("refused at 0.9: {:?}", advice.misses));
    }
    let mut need = on(machine, disk, count, rates(1.1 * published, reads, block));
    need.size = loadline_units::Bytes::gib(1);
    let advice = advise(&need, catalog, &quick()).map_err(|error| error.to_string())?;
    if (1..=count).any(|count| accepts(&advice, machine, disk, count)) {
        return Err(format!("accepted at 1.1: {:?}", advice.candidates));
    }
    let named: Vec<&str> = advice.misses.iter().map(|miss| miss.seen.name()).collect();
    if named.contains(&limit) { Ok(()) } else { Err(format!("{named:?}, not {limit}")) }
}

#[test]
fn published_limits_are_accepted_below_and_refused_above() {
    let catalog = Catalog::builtin();
    let mut wrong = Vec::new();
    let mut rows = 0;
    let mut check = |example: &Example| {
        rows += 1;
        if let Err(reason) = is_right(&catalog, example) {
            wrong.push(format!("{} x {} on {}: {reason}", example.2, example.1, example.0));
        }
    };
    EXAMPLES.iter().for_each(&mut check);
    let mut names: Vec<(&'static str, String, f64, bool)> = Vec::new();
    for (provider, machine) in MACHINES {
        for disk in catalog.network_disks_sold(provider) {
            let SizeRule::Fixed(_) = disk.size else { continue };
            let Ok(figures) = catalog.disk_figures(&disk.name, &Provisioned::default()) else { continue };
            let spec = figures.spec(&Draw::PUBLISHED);
            let Some(Directions::Together(budget)) = spec.limit.iops else { continue };
            names.push((machine, disk.name.clone(), budget.rate.get() as f64, budget.burst.is_some()));
        }
    }
    for (machine, disk, published, bursts) in &names {
        // The example borrows its names for as long as the test runs.
        let disk: &'static str = Box::leak(disk.clone().into_boxed_str());
        check(&(machine, disk, 1, 0.5, 4096, *published, if *bursts { "burst-exhausted" } else { "disk-iops" }));
    }
    println!("{} of {rows} set-ups right", rows - wrong.len());
    println!("{}", wrong.join("\n"));
    assert!((rows - wrong.len()) * 100 >= RIGHT_MIN * rows, "{} of {rows}: {wrong:#?}", wrong.len());
}
