//! Which cell of one side is which of another: the same load, on the same volume.

use super::Side;
use super::comparison::Unmatched;
use super::figure::{Figure, FigureValue};
use super::sample::Sample;
use crate::trials::{cell_doubts, trials_used};
use loadline_record::CellRecord;
use serde_json::Value;
use std::collections::BTreeMap;

/// The key under which it stands how requests arrive.
const ARRIVAL: &str = "arrival";
/// The key under which it stands which volume an application asked, emulated or recorded.
const APPLICATION: &str = "the application's volume";
/// And of a replay, what made its requests come.
const BY: &str = "by";
/// Keys of a load that do not change what is asked of storage.
const NOT_THE_LOAD: [&str; 6] = ["name", "trials", "pause", "hang_limit", "objective", "best_of_trials"];
/// A cell that differs in more than so many keys is another load, not the same one changed.
const DIFFERS_MAX: usize = 2;

/// The cells of one side.
pub(super) struct Cells<'a> {
    pub(super) all: Vec<&'a CellRecord>,
    /// Whether they lie on one volume, whose name then tells nothing.
    one_volume: bool,
}

impl<'a> Cells<'a> {
    pub(super) fn of(side: &Side<'a>) -> Self {
        let all: Vec<&CellRecord> =
            side.run.cells.iter().filter(|c| side.volume.is_none_or(|volume| c.volume == volume)).collect();
        Self { one_volume: all.iter().all(|c| c.volume == all[0].volume), all }
    }
}

/// Pairs of cells that are the same load, in the order of the first side, and those that have no counterpart: first those of
/// the first side, then those of the second.
pub(super) fn matched<'a>(
    first: &Cells<'a>,
    second: &Cells<'a>,
    second_side: u32,
) -> (Vec<(&'a CellRecord, &'a CellRecord)>, Vec<Unmatched>) {
    let by_volume = !(first.one_volume && second.one_volume);
    let mut places: BTreeMap<String, Vec<&CellRecord>> = BTreeMap::new();
    // The last of a list is taken first.
    for cell in second.all.iter().rev() {
        places.entry(key(cell, by_volume)).or_default().push(cell);
    }
    let (mut pairs, mut only_first) = (Vec::new(), Vec::new());
    for cell in &first.all {
        match places.get_mut(&key(cell, by_volume)).and_then(Vec::pop) {
            Some(counterpart) => pairs.push((*cell, counterpart)),
            None => only_first.push(*cell),
        }
    }
    // An application that was recorded, and what became of the recording elsewhere.
    only_first.retain(|cell| {
        if !is_application(cell) {
            return true;
        }
        let is_that =
            |other: &&CellRecord| is_replay_of(cell, other, by_volume) || is_replay_of(other, cell, by_volume);
        let left = |other: &&CellRecord| !pairs.iter().any(|(_, b)| std::ptr::eq(*b, *other));
        let counterpart = second.all.iter().copied().filter(|cell| is_application(cell)).filter(left).find(is_that);
        pairs.extend(counterpart.map(|other| (*cell, other)));
        counterpart.is_none()
    });
    let order = |cell: &CellRecord| first.all.iter().position(|other| std::ptr::eq(*other, cell));
    pairs.sort_by_key(|(cell, _)| order(cell));
    let taken = |cell: &CellRecord| pairs.iter().any(|(_, b)| std::ptr::eq(*b, cell));
    let only_second: Vec<&CellRecord> = second.all.iter().copied().filter(|c| !taken(c)).collect();
    let unmatched = |cells: &[&CellRecord], others: &[&CellRecord], side| -> Vec<Unmatched> {
        let one = |cell: &&CellRecord| Unmatched {
            side,
            id: cell.id.clone(),
            volume: cell.volume.clone(),
            label: cell.label.clone(),
            differs: differs(cell, others, by_volume),
            figures: figures(cell),
            doubts: cell_doubts(cell, trials_used(cell).len()),
        };
        cells.iter().map(one).collect()
    };
    let mut all = unmatched(&only_first, &only_second, 0);
    all.extend(unmatched(&only_second, &only_first, second_side));
    (pairs, all)
}

/// All figures that a cell has.
fn figures(cell: &CellRecord) -> Vec<FigureValue> {
    let of = |figure| Some(FigureValue { figure, value: Sample::of(cell, figure).ok()?.figure() });
    Figure::ALL.into_iter().filter_map(of).collect()
}

/// In what `cell` differs from the one of `others` that comes nearest; empty where none is near.
fn differs(cell: &CellRecord, others: &[&CellRecord], by_volume: bool) -> Vec<String> {
    let mine = keys(cell, by_volume);
    let unlike = |other: &&CellRecord| -> Vec<String> {
        let theirs = keys(other, by_volume);
        let names: std::collections::BTreeSet<&String> = mine.keys().chain(theirs.keys()).collect();
        names.into_iter().filter(|name| mine.get(*name) != theirs.get(*name)).cloned().collect()
    };
    let nearest = others.iter().map(unlike).min_by_key(Vec::len);
    nearest.filter(|keys| keys.len() <= DIFFERS_MAX).unwrap_or_default()
}

/// What makes a cell what it is.
fn key(cell: &CellRecord, by_volume: bool) -> String {
    format!("{:?}", keys(cell, by_volume))
}

/// Whether an application asked, whose requests are no plan's.
fn is_application(cell: &CellRecord) -> bool {
    cell.load.others().is_some()
}

/// Whether a cell is a replay, and another an application on a volume of the name of the recorded one.
fn is_replay_of(replay: &CellRecord, application: &CellRecord, by_volume: bool) -> bool {
    let (mut own, other) = (keys(replay, by_volume), keys(application, by_volume));
    own.contains_key(APPLICATION) && own.remove(BY).is_some() && own == other
}

/// A key with its value; how requests arrive by its parts, so that of two closed loops it is the depth that differs.
fn told(name: &str, value: &Value) -> BTreeMap<String, String> {
    let kind =
        value.as_object().filter(|kinds| name == ARRIVAL && kinds.len() == 1).and_then(|kinds| kinds.iter().next());
    let Some((kind, Value::Object(parts))) = kind else {
        return BTreeMap::from([(name.to_owned(), canonical(value))]);
    };
    let parts =
        parts.iter().filter(|(_, value)| !value.is_null()).map(|(part, value)| (part.clone(), canonical(value)));
    std::iter::once((name.to_owned(), kind.clone())).chain(parts).collect()
}

/// The same key by key. Keys without a value do not count: a key that a later version adds is missing in older records.
fn keys(cell: &CellRecord, by_volume: bool) -> BTreeMap<String, String> {
    let mut keys: BTreeMap<String, String> = match &cell.load.spec_stored() {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, value)| !value.is_null() && !NOT_THE_LOAD.contains(&name.as_str()))
            .flat_map(|(name, value)| told(name, value))
            .collect(),
        // A record without its load's specification has the figures that tables show.
        _ => BTreeMap::from([
            ("load".to_owned(), cell.label.clone()),
            ("duration".to_owned(), cell.load.figures().duration_ns.to_string()),
        ]),
    };
    if !cell.beside.is_empty() {
        let loads: Vec<&str> = cell.beside.iter().map(|load| load.load.as_str()).collect();
        keys.insert("the loads beside it".to_owned(), loads.join("; "));
    }
    if by_volume {
        keys.insert("the volume's name".to_owned(), cell.volume.clone());
    }
    if let Some(volume) = keys.remove("emulated").or_else(|| keys.remove("recorded")) {
        keys.insert(APPLICATION.to_owned(), volume);
    }
    keys
}

/// JSON whose text does not depend on the order of keys.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, String> =
                fields.iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k, canonical(v))).collect();
            format!("{sorted:?}")
        }
        Value::Array(values) => format!("{:?}", values.iter().map(canonical).collect::<Vec<_>>()),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed, run};
    use loadline_record::{Load, RunRecord};
    use serde_json::json;

    fn made(specs: &[(&str, Value)]) -> RunRecord {
        let one = |(volume, spec): &(&str, Value)| {
            let mut made = cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &[]);
            made.load = Load::stored(made.load.figures(), spec.clone());
            (made.volume, made.id) = ((*volume).to_owned(), format!("{volume} {spec}"));
            made
        };
        run(specs.iter().map(one).collect())
    }
    fn side(run: &RunRecord) -> Side<'_> {
        Side { run, volume: None }
    }
    fn pairs(a: &RunRecord, b: &RunRecord) -> (Vec<(String, String)>, Vec<Unmatched>) {
        let (pairs, unmatched) = matched(&Cells::of(&side(a)), &Cells::of(&side(b)), 1);
        (pairs.into_iter().map(|(a, b)| (a.id.clone(), b.id.clone())).collect(), unmatched)
    }

    #[test]
    fn a_cell_is_its_load_whatever_it_is_called_and_however_often_it_is_tried() {
        let a =
            made(&[("data", json!({"name": "x", "trials": 3, "reads": 1, "blocks": {"a": 1, "b": 2}, "gone": null}))]);
        let b = made(&[("data", json!({"trials": 9, "blocks": {"b": 2, "a": 1}, "reads": 1}))]);
        let (pairs, unmatched) = pairs(&a, &b);
        assert_eq!((pairs.len(), unmatched.len()), (1, 0));
    }

    #[test]
    fn volumes_count_by_name_where_there_are_several_and_not_where_there_is_one() {
        let load = json!({"reads": 1});
        let (a, b) = (made(&[("old", load.clone())]), made(&[("new", load.clone())]));
        assert_eq!(pairs(&a, &b).0.len(), 1);
        let both = made(&[("old", load.clone()), ("new", load)]);
        let (matches, unmatched) = pairs(&both, &b);
        assert_eq!(matches[0].0, both.cells[1].id);
        assert_eq!((unmatched.len(), unmatched[0].volume.as_str(), unmatched[0].side), (1, "old", 0));
        let one = Cells::of(&Side { run: &both, volume: Some("old") });
        assert_eq!(matched(&one, &Cells::of(&side(&b)), 1).0.len(), 1);
    }

    #[test]
    fn what_has_no_counterpart_is_told_with_what_keeps_it_from_the_nearest() {
        let a = made(&[("data", json!({"reads": 1, "duration": "30 s"})), ("data", json!({"reads": 0, "threads": 4}))]);
        let b = made(&[("data", json!({"reads": 1, "duration": "10 s"}))]);
        let (matches, unmatched) = pairs(&a, &b);
        assert!(matches.is_empty());
        let sides: Vec<u32> = unmatched.iter().map(|u| u.side).collect();
        assert_eq!(sides, [0, 0, 1]);
        assert_eq!(unmatched[0].differs, ["duration"]);
        assert_eq!(unmatched[1].differs, Vec::<String>::new());
        assert_eq!(unmatched[2].differs, ["duration"]);
    }

    #[test]
    fn an_application_is_held_against_its_recording_elsewhere_and_ways_to_replay_are_two_loads() {
        let replay = |volume, by: &str| json!({"recorded": volume, "by": by});
        let emulated = made(&[("log", json!({"emulated": "log"})), ("data", json!({"emulated": "data"}))]);
        let replayed = made(&[("data", replay("data", "answers")), ("log", replay("log", "answers"))]);
        for (a, b) in [(&emulated, &replayed), (&replayed, &emulated), (&emulated, &emulated), (&replayed, &replayed)] {
            let (matches, unmatched) = pairs(a, b);
            assert!(matches.iter().all(|(a, b)| a.split(' ').next() == b.split(' ').next()), "{matches:?}");
            assert_eq!((matches.len(), unmatched.len()), (2, 0));
            assert_eq!(matches[0].0, a.cells[0].id, "in the order of the first side");
        }
        let by_time = made(&[("data", replay("data", "time")), ("log", replay("log", "time"))]);
        let (matches, unmatched) = pairs(&replayed, &by_time);
        assert_eq!((matches.len(), unmatched.len(), unmatched[0].differs.as_slice()), (0, 4, &["by".to_owned()][..]));
    }

    #[test]
    fn equal_cells_are_matched_in_their_order() {
        let load = json!({"reads": 1});
        let a = made(&[("data", load.clone()), ("data", load.clone())]);
        let mut b = made(&[("data", load.clone()), ("data", load)]);
        b.cells[0].id = "first".to_owned();
        let (matches, unmatched) = pairs(&a, &b);
        assert_eq!((matches.len(), unmatched.len()), (2, 0));
        assert_eq!(matches[0].1, "first");
    }
}
