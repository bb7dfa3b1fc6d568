//! `together`: which loads of a plan run at the same time.

use super::{CELLS_MAX, GroupEnd, LoadGroup, PLAN_TRIALS_MAX, PlanLoad};
use loadline_document::{Item, Reader, list};

const KEY: &str = "together";
const WANTED: &str = "names of loads such as [\"log\", \"readers\"], several such lists, or { loads = [\"log\", \"readers\"], \
                      ends = \"first\" }";
const ENDS: &[(&str, GroupEnd)] = &[("each", GroupEnd::Each), ("first", GroupEnd::First)];

/// The groups that a plan names. One that cannot be is a problem, with its reason.
pub(super) fn read(reader: &mut Reader<'_>, item: &Item<'_>, loads: &[PlanLoad]) -> Vec<LoadGroup> {
    let Some(values) = item.get_ref().as_array().filter(|values| !values.is_empty()) else {
        reader.problem(item.span(), KEY, format!("is no list: write {WANTED}"));
        return Vec::new();
    };
    let groups: Vec<LoadGroup> = if values.iter().all(|value| value.get_ref().is_str()) {
        read_group(reader, item, item, GroupEnd::Each, loads).into_iter().collect()
    } else {
        values.iter().filter_map(|value| read_one(reader, value, loads)).collect()
    };
    check_amount(reader, item, &groups, loads);
    let flushed = groups.iter().filter(|group| group.loads.len() > 1).flat_map(|group| &group.loads);
    if let Some(load) = flushed.map(|load| &loads[*load]).find(|load| load.cells.iter().any(|cell| cell.end_flush)) {
        let name = name_of(load).unwrap_or("a load");
        let message = format!("{name} has end_flush, which is measured of loads that run alone: leave one of them out");
        reader.problem(item.span(), KEY, message);
    }
    groups
}

/// A group as a list of names, or as a table that says more of it.
fn read_one(reader: &mut Reader<'_>, item: &Item<'_>, loads: &[PlanLoad]) -> Option<LoadGroup> {
    if item.get_ref().as_array().is_some() {
        return read_group(reader, item, item, GroupEnd::Each, loads);
    }
    let before = reader.problem_count();
    let word = |reader: &mut Reader<'_>, key: &str, item: &Item<'_>| reader.word(key, item, ENDS, "");
    let (names, ends) = reader.fields(KEY, item, WANTED, |t| (t.item("loads"), t.get("ends", word)))?;
    let Some(names) = names else {
        reader.problem(item.span(), KEY, format!("names no loads: write {WANTED}"));
        return None;
    };
    if reader.problem_count() > before {
        return None;
    }
    read_group(reader, names, item, ends.unwrap_or_default(), loads)
}

fn read_group(
    reader: &mut Reader<'_>,
    names: &Item<'_>,
    group: &Item<'_>,
    ends: GroupEnd,
    loads: &[PlanLoad],
) -> Option<LoadGroup> {
    let before = reader.problem_count();
    let mut members: Vec<usize> = Vec::new();
    for value in reader.values(KEY, names) {
        let Some(name) = reader.text(KEY, value) else { continue };
        let is_called = |load: &&(usize, &PlanLoad)| name_of(load.1) == Some(name.as_str());
        let called: Vec<(usize, &PlanLoad)> = loads.iter().enumerate().collect();
        let called: Vec<usize> = called.iter().filter(is_called).map(|(place, _)| *place).collect();
        match called[..] {
            [] => {
                let known: Vec<&str> = loads.iter().filter_map(name_of).collect();
                let known =
                    if known.is_empty() { "none has one".to_owned() } else { format!("they are {}", list(&known)) };
                reader.problem(value.span(), KEY, format!("no load has the name {name:?}: {known}"));
            }
            [place] if members.contains(&place) => {
                reader.problem(value.span(), KEY, format!("{name:?} is in the list twice: write a second [[load]]"));
            }
            [place] => members.push(place),
            _ => {
                reader.problem(value.span(), KEY, format!("several loads have the name {name:?}: give each its own"));
            }
        }
    }
    if reader.problem_count() > before {
        return None;
    }
    let trials = |place: &usize| loads[*place].cells[0].trials;
    let first = *members.first()?;
    if let Some(other) = members.iter().find(|place| trials(place) != trials(&first)) {
        let message = format!(
            "loads that run at the same time have as many trials: one has {}, another {}",
            trials(&first),
            trials(other)
        );
        reader.problem(group.span(), KEY, message);
        return None;
    }
    Some(LoadGroup { loads: members, ends })
}

/// What a load is called.
fn name_of(load: &PlanLoad) -> Option<&str> {
    load.cells.first()?.name.as_deref()
}

/// Refuses more cells or trials than a plan may have.
fn check_amount(reader: &mut Reader<'_>, item: &Item<'_>, groups: &[LoadGroup], loads: &[PlanLoad]) {
    let (mut cells, mut trials) = (0usize, 0u64);
    for group in groups {
        let each =
            group.loads.iter().try_fold(group.loads.len(), |all, load| all.checked_mul(loads[*load].cells.len()));
        cells = cells.saturating_add(each.unwrap_or(usize::MAX));
        let of_each = group.loads.first().map_or(1, |load| u64::from(loads[*load].cells[0].trials));
        trials = trials.saturating_add((each.unwrap_or(usize::MAX) as u64).saturating_mul(of_each));
    }
    if cells > CELLS_MAX || trials > PLAN_TRIALS_MAX {
        let message = format!(
            "each cell of a load runs with each of the others: that makes more than {CELLS_MAX} cells or {PLAN_TRIALS_MAX} trials; \
             shorten the lists of the loads"
        );
        reader.problem(item.span(), KEY, message);
    }
}
