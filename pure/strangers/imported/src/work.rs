//! What load generators of databases count: transactions in a second.

/// Transactions per second of a result of pgbench, or of sysbench on a database; of several results, the last. `None`: it is neither.
///
/// pgbench prints one figure since version 14; before, the one without the time of connecting is taken.
#[must_use]
pub fn work_per_second(text: &str) -> Option<f64> {
    let found = text.lines().rev().filter_map(|line| {
        let line = line.trim();
        pgbench(line).or_else(|| sysbench(line))
    });
    found.into_iter().find(|per_s| per_s.is_finite() && *per_s > 0.0)
}

/// "tps = 785.113788 (without initial connection time)".
fn pgbench(line: &str) -> Option<f64> {
    let (figure, how) = line.strip_prefix("tps = ")?.split_once(' ')?;
    let with_connecting = how.starts_with("(including");
    figure.parse().ok().filter(|_| !with_connecting)
}

/// "transactions:                        819    (155.46 per sec.)".
fn sysbench(line: &str) -> Option<f64> {
    let rest = line.strip_prefix("transactions:")?;
    rest.split_once('(')?.1.strip_suffix(" per sec.)")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_as_the_tools_wrote_them() {
        assert_eq!(work_per_second(include_str!("../tests/work/pgbench-15.txt")), Some(820.440_674));
        assert_eq!(work_per_second(include_str!("../tests/work/pgbench-15-progress.txt")), Some(785.113_788));
        assert_eq!(work_per_second(include_str!("../tests/work/sysbench-1.0.20.txt")), Some(155.46));
    }

    #[test]
    fn other_texts_have_no_count() {
        for text in ["", "tps = many (without)", "transactions: 819", "tps = inf (without)", "iops = 12"] {
            assert_eq!(work_per_second(text), None, "{text}");
        }
    }
}
