//! When which limit held, as a table.

use crate::rates::per_second;
use crate::table::{Column, Field, Table};
use crate::words;
use loadline_analysis::Incident;
use loadline_units::{Duration, Timestamp};

/// One row for each time for which a device was at a limit.
#[must_use]
pub fn incidents_table(incidents: &[Incident]) -> Table {
    let mut table = Table::new(&[
        Column::words("from (UTC)", "since"),
        Column::words("to", "until"),
        Column::numbers("for", "held_ns"),
        Column::words("device", "volume"),
        Column::words("held by", "held_by"),
        Column::words("limit", "limit"),
        Column::numbers("IOPS", "iops"),
    ]);
    for incident in incidents {
        let time = |us: u64| Field::text(Timestamp::from_unix_s((us + 500_000) / 1_000_000).to_string());
        let held = Duration::from_us(incident.held_us);
        table.push(vec![
            time(incident.since_us),
            time(incident.until_us),
            Field::both(Duration::from_s((incident.held_us + 500_000) / 1_000_000).human(), held.as_ns()),
            Field::text(&incident.volume),
            Field::text(words::watch::cause(&incident.cause)),
            incident.limit.map_or_else(|| Field::both("-", serde_json::Value::Null), |limit| Field::text(limit.name())),
            Field::both(per_second(incident.iops()), incident.iops()),
        ]);
    }
    table
}
