//! What the user of a run says of it: tags, a note, and moments that were marked.

use crate::figures::plain;
use crate::table::{Column, Field, Table};
use loadline_analysis::RunInfo;
use loadline_record::{NOTE, Tag};
use loadline_units::Duration;

/// The heading of the table of marks.
pub(crate) const MARKS_HEADING: &str = "Marked moments";

/// Tags, then the note: each with its name.
pub(crate) fn remarks(run: &RunInfo) -> Vec<(&'static str, String)> {
    of_tags(&run.tags)
}

/// The same of tags alone.
pub(crate) fn of_tags(all: &[Tag]) -> Vec<(&'static str, String)> {
    let note = all.iter().find(|tag| tag.key == NOTE).map(|tag| ("note", plain(&tag.value)));
    let tags = tags(all);
    let tags = (!tags.is_empty()).then_some(("tags", tags));
    tags.into_iter().chain(note).collect()
}

/// Tags as they are typed, without the note.
pub(crate) fn tags(tags: &[Tag]) -> String {
    let others = tags.iter().filter(|tag| tag.key != NOTE);
    others.map(|tag| plain(&tag.to_string())).collect::<Vec<_>>().join(" ")
}

/// When a moment was marked, since the run began.
pub(crate) fn moment(elapsed_ns: u64) -> String {
    Duration::from_ns(elapsed_ns).clock()
}

/// The moments that were marked; `None` where none was.
pub(crate) fn marks(run: &RunInfo) -> Option<Table> {
    let mut table = Table::new(&[Column::numbers("after", "elapsed_ns"), Column::words("marked", "note")]);
    for mark in &run.marks {
        table.push(vec![Field::both(moment(mark.elapsed_ns), mark.elapsed_ns), Field::text(&mark.note)]);
    }
    (!table.is_empty()).then_some(table)
}
