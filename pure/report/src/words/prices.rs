//! What is wrong with prices and lists of them, in sentences.

use loadline_catalog::{PriceCause, PriceProblem};

/// What is wrong, after the entry's name: "costs 1,906.18 USD a month in us-east-1, ...".
#[must_use]
pub fn price_problem(problem: &PriceProblem) -> String {
    let region = &problem.region;
    match &problem.cause {
        PriceCause::AboveSibling { month, sibling, sibling_month } => format!(
            "costs {month} a month in {region}, and {sibling}, which is as large, {sibling_month}: it may be the price of dedicated hosts"
        ),
        PriceCause::PartsApart { charge, expected } => {
            format!("costs {charge} in {region}, and by its other parts it would be {}", amount(*expected))
        }
        PriceCause::ListsDiffer { amount, other, other_amount } => {
            format!("costs {amount} in {region} here, and {other_amount} at {other}")
        }
        PriceCause::FewNames { names, largest, of } => {
            format!(
                "has {names} names in {region}, and {of} in {largest}: is the list whole? If so, name it in small_regions"
            )
        }
    }
}

/// With as many digits as prices of small units have.
fn amount(amount: f64) -> String {
    format!("{amount:.7}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_catalog::Catalog;

    const HEAD: &str = "schema = 1\nprovider = \"own\"\ntitle = \"x\"\nsource = \"x\"\ndate = \"2026\"\n";

    #[test]
    fn each_cause_has_its_sentence() {
        let machines = format!(
            "{HEAD}kind = \"vm\"\nfamily = \"v\"\nbare_metal = \".metal\"\n[vm]\n\"m6g.metal\" = {{ data_disks = 1, vcpus = 64 }}\n\
             \"m6g.16xlarge\" = {{ data_disks = 1, vcpus = 64 }}\n\"m6g.8xlarge\" = {{ data_disks = 1, vcpus = 32 }}\n"
        );
        let disks = format!(
            "{HEAD}kind = \"disk\"\nfamily = \"d\"\n[latency.read]\nmedian = \"1 ms\"\n[disk.free]\n\
             price_shares = {{ iops = \"6.25 %\" }}\nsize = {{ least = \"1 GiB\", most = \"1 TiB\" }}\n\
             iops = {{ provisioned = true, most = \"9000 IOPS\" }}\n"
        );
        let list = |family: &str, cells: &str| {
            format!(
                "{HEAD}kind = \"prices\"\nfamily = \"{family}\"\nper = \"USD per hour\"\nregions = [\"here\", \"there\"]\n[price]\n{cells}"
            )
        };
        let one = list(
            "one",
            "\"m6g.metal\" = \"2.6112 -\"\n\"m6g.16xlarge\" = \"2.464 2.464\"\n\"m6g.8xlarge\" = \"1.232 -\"\n",
        );
        let two = list("two", "\"m6g.8xlarge\" = \"1.3 -\"\n");
        let by_part = format!(
            "{HEAD}kind = \"prices\"\nfamily = \"p\"\n[region.here]\nfree = [\"0.08 USD per GiB-month\", \"0.006 USD per IOPS-month\"]\n"
        );
        let files = [("m", &machines), ("d", &disks), ("1", &one), ("2", &two), ("p", &by_part)];
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let catalog = Catalog::default().with(&files).unwrap();
        let told: Vec<String> = catalog
            .price_problems()
            .iter()
            .map(|problem| format!("{}: {} {}", problem.cause.name(), problem.name, price_problem(problem)))
            .collect();
        assert_eq!(
            told,
            [
                "few-names: own/one has 1 names in there, and 3 in here: is the list whole? If so, name it in small_regions",
                "above-sibling: own/m6g.metal costs 1906.18 USD a month in here, and own/m6g.16xlarge, which is as large, 1798.72 USD: \
                 it may be the price of dedicated hosts",
                "few-names: own/two has 0 names in there, and 1 in here: is the list whole? If so, name it in small_regions",
                "lists-differ: own/m6g.8xlarge costs 1.3 USD per hour in here here, and 1.232 USD per hour at 1:13",
                "parts-apart: own/free costs 0.006 USD per IOPS-month in here, and by its other parts it would be 0.005",
            ]
        );
    }
}
