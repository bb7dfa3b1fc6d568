//! Where the figure of a ceiling comes from, in words.

use loadline_record::{
    Budget, BudgetCredits, BudgetOwner, BudgetRate, BudgetRates, CeilingSource, DirectionLevel, RateFigure,
    ThrottledRequests,
};
use loadline_units::words::{number, percent, rate_text, rate_text_beside, span, throughput};
use loadline_units::{ByteRate, Bytes};

/// "provider/disk: 5,000 IOPS".
#[must_use]
pub fn ceiling_source(source: &CeilingSource) -> String {
    match source {
        CeilingSource::SingleLatency => "inferred: requests outstanding over the latency of a single one".to_owned(),
        CeilingSource::Direction(found) => format!("inferred: {}", direction_level(found)),
        CeilingSource::LevelsOff { load, from_depth } => {
            format!("inferred: {load} requests level off from {} outstanding on", number(*from_depth as f64))
        }
        CeilingSource::Reached => "inferred: this cell reaches it".to_owned(),
        CeilingSource::LevelOf { load, level } => format!("inferred: the level of {load}, {}", rate_figure(*level)),
        CeilingSource::Budget(of) => budget(of),
        CeilingSource::WriteBack { behind, .. } => {
            format!("{}: {}", ceiling_owner(source), ceiling_source(behind))
        }
        CeilingSource::InService { bytes_per_s, .. } => {
            format!("{}: all requests in service transfer {} together", ceiling_owner(source), transfer(*bytes_per_s))
        }
        CeilingSource::UnderHead { bytes_per_s, .. } => {
            format!("{}: {} pass under its head", ceiling_owner(source), transfer(*bytes_per_s))
        }
        CeilingSource::ModelledLatency { at_once, of_depth, latency_ns, hit_share } => {
            let bounded = of_depth.map_or_else(
                || " outstanding".to_owned(),
                |depth| format!(" of {} outstanding are in service at once", number(depth as f64)),
            );
            let hits = hit_share.map_or_else(String::new, |share| {
                format!("; the host's cache answers {} of the reads", percent(share))
            });
            format!("{}{bounded}, {} each when nothing waits{hits}", number(*at_once), span(*latency_ns))
        }
        CeilingSource::OwnCeiling => "the load's own ceiling".to_owned(),
        CeilingSource::Offered => "what the load offers".to_owned(),
        CeilingSource::OnEachHost { hosts, source } => {
            format!("{} on each of {hosts} hosts", ceiling_source(source))
        }
        CeilingSource::Written { text } => text.clone(),
    }
}

/// Whose a ceiling is: "provider/disk".
pub(super) fn ceiling_owner(source: &CeilingSource) -> String {
    match source {
        CeilingSource::Budget(of) => owner(&of.owner),
        CeilingSource::WriteBack { again_share, .. } => {
            let again = again_share.map_or_else(
                || "if no block is written twice".to_owned(),
                |share| format!("{} of them written again before they reach the disk", percent(share)),
            );
            format!("what the cache's disk takes, once the cache holds as many writes as it may, {again}")
        }
        CeilingSource::InService { disk, .. } | CeilingSource::UnderHead { disk, .. } => named_disk(disk).to_owned(),
        CeilingSource::OnEachHost { source, .. } => ceiling_owner(source),
        CeilingSource::Written { text } => text.split(": ").next().unwrap_or_default().to_owned(),
        other => ceiling_source(other),
    }
}

/// "writes alone level off at 500 IOPS, and are 30 % of these requests".
pub(super) fn direction_level(found: &DirectionLevel) -> String {
    format!(
        "{} alone level off at {} IOPS, and are {} of these requests",
        direction(found.direction),
        number(found.level_iops),
        percent(found.share)
    )
}

/// "reads" or "writes".
pub(super) const fn direction(requests: ThrottledRequests) -> &'static str {
    match requests {
        ThrottledRequests::Reads => "reads",
        ThrottledRequests::Writes => "writes",
    }
}

/// "5,000 IOPS", "200 MB/s".
pub(super) fn rate_figure(level: RateFigure) -> String {
    match level {
        RateFigure::RateIops(rate) => format!("{} IOPS", number(rate)),
        RateFigure::BytesPerS(rate) => throughput(rate),
    }
}

fn budget(budget: &Budget) -> String {
    let allowed = rates(budget.allowed, budget.steady_per_s);
    let published = budget.published.map(|published| rates(published, budget.steady_per_s));
    let figure = match published.filter(|published| *published != allowed) {
        Some(published) => format!("{published} published, {allowed} as delivered"),
        None => allowed,
    };
    let when = match budget.credits {
        None => "",
        Some(BudgetCredits::Lasting) => " while credits last",
        Some(BudgetCredits::Spent) => " once credits are spent",
    };
    let counted = budget.counted_requests.map_or_else(String::new, |count| {
        format!("; {} counted requests on it for each of this load", fraction(count))
    });
    let bytes = budget.bytes_each.map_or_else(String::new, |bytes| {
        format!("; {} on it for each request of this load", Bytes::new(bytes).human())
    });
    format!("{}: {figure}{when}{counted}{bytes}", owner(&budget.owner))
}

fn owner(owner: &BudgetOwner) -> String {
    match owner {
        BudgetOwner::Machine { name, cached } => {
            let name = if name.is_empty() { "the virtual machine" } else { name };
            format!("{name}, {}", if *cached { "cached" } else { "uncached" })
        }
        BudgetOwner::Pool { name } => format!("all disks {name} of the machine together"),
        BudgetOwner::Allowance { name } => format!("the machine's limit for all disks {name}"),
        BudgetOwner::Disk { name, alike } if *alike > 1 => format!("each of {alike} {}", named_disk(name)),
        BudgetOwner::Disk { name, .. } => named_disk(name).to_owned(),
    }
}

const fn named_disk(name: &str) -> &str {
    if name.is_empty() { "the disk" } else { name }
}

fn rates(rates: BudgetRates, beside: u64) -> String {
    match rates {
        BudgetRates::Together { rate } => budget_rate(rate, beside),
        BudgetRates::One { direction: of, rate } => format!("{} for {}", budget_rate(rate, beside), direction(of)),
        BudgetRates::Traded { read, write } => {
            format!("{} read or {} written", budget_rate(read, beside), budget_rate(write, beside))
        }
    }
}

fn budget_rate(rate: BudgetRate, beside: u64) -> String {
    match rate {
        BudgetRate::RateIops(rate) => format!("{} IOPS", number(rate as f64)),
        BudgetRate::BytesPerS(rate) => {
            let rates = ByteRate::per_second(rate).zip(ByteRate::per_second(beside));
            rates.map_or_else(String::new, |(rate, beside)| rate_text_beside(rate, beside))
        }
    }
}

fn transfer(bytes_per_s: u64) -> String {
    ByteRate::per_second(bytes_per_s).map_or_else(String::new, rate_text)
}

/// A number of counted requests: "4", "0.25", "0.1875".
fn fraction(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk's budget as it is delivered beside what was published.
    fn budget(allowed: u64, published: u64) -> Budget {
        let rate = |rate| BudgetRates::Together { rate: BudgetRate::BytesPerS(rate) };
        Budget {
            owner: BudgetOwner::Disk { name: "premium-p40".into(), alike: 2 },
            allowed: rate(allowed),
            published: Some(rate(published)),
            steady_per_s: published,
            credits: None,
            counted_requests: None,
            bytes_each: None,
        }
    }

    #[test]
    fn the_published_and_the_delivered_figure_have_one_unit() {
        let text = |budget| ceiling_source(&CeilingSource::Budget(budget));
        assert_eq!(
            text(budget(495 << 19, 250 << 20)),
            "each of 2 premium-p40: 250 MiB/s published, 247.5 MiB/s as delivered"
        );
        assert_eq!(
            text(budget(321_000_000, 300_000_000)),
            "each of 2 premium-p40: 300 MB/s published, 321 MB/s as delivered"
        );
        let spent = Budget { credits: Some(BudgetCredits::Spent), ..budget(100_000_000, 100_000_000) };
        assert_eq!(text(spent), "each of 2 premium-p40: 100 MB/s once credits are spent");
    }

    #[test]
    fn what_one_load_makes_of_a_budget_follows_it() {
        let requests = Budget { counted_requests: Some(0.187_5), published: None, ..budget(1_000_000, 1_000_000) };
        assert!(
            ceiling_source(&CeilingSource::Budget(requests))
                .ends_with("1 MB/s; 0.1875 counted requests on it for each of this load")
        );
        let bytes = Budget { bytes_each: Some(4096), ..budget(1_000_000, 1_000_000) };
        let source =
            CeilingSource::WriteBack { again_share: Some(0.5), behind: Box::new(CeilingSource::Budget(bytes)) };
        assert_eq!(
            ceiling_source(&source),
            "what the cache's disk takes, once the cache holds as many writes as it may, 50 % of them written again before they reach \
             the disk: each of 2 premium-p40: 1 MB/s; 4.00 KiB on it for each request of this load"
        );
        assert_eq!(ceiling_owner(&"the disk: 500 IOPS".into()), "the disk");
    }
}
