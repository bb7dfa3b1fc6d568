//! Fields of tables about emulated volumes.

use loadline_emulation::{TimeCause, TimeShare};
use loadline_report::Field;
use serde_json::Value as Json;

/// Requests a second, without their unit: of a few the tenths, too.
pub(crate) fn rate(iops: f64) -> String {
    if iops > 0.0 && iops < 10.0 { format!("{iops:.1}") } else { format!("{iops:.0}") }
}

/// What bound a volume.
pub(crate) fn bound_by(bound: Option<TimeCause>) -> Field {
    bound.map_or_else(|| Field::both("-", Json::Null), |bound| Field::text(bound.name()))
}

/// Where its time went.
pub(crate) fn time_shares(shares: &[TimeShare]) -> Field {
    let exact: Vec<Json> =
        shares.iter().map(|held| serde_json::json!({ "by": held.by.name(), "share": held.share })).collect();
    Field::both(TimeShare::words(shares), exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_requests_a_second_are_not_none() {
        assert_eq!([0.0, 0.4, 3.26, 10.0, 152.6].map(rate), ["0", "0.4", "3.3", "10", "153"]);
    }
}
