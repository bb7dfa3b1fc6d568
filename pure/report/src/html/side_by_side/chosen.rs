//! Selection for charts over several runs: the loads that fit, and the names of the runs.

use crate::figures::plain;
use crate::html::Run;

/// The traits in which a load varies, each as text.
pub(super) type Traits = Vec<String>;

/// The distinguishing part of each run's name: common words at the beginning or end are left out.
pub(super) fn names(runs: &[Run<'_>]) -> Vec<String> {
    let full: Vec<String> = runs.iter().map(|run| plain(&run.summary.run.name)).collect();
    let words: Vec<Vec<&str>> = full.iter().map(|name| name.split_whitespace().collect()).collect();
    let least = words.iter().map(Vec::len).min().unwrap_or(0);
    let alike = |word: &dyn Fn(&[&str]) -> String| words.iter().all(|all| word(all) == word(&words[0]));
    let before = (0..least).take_while(|at| alike(&|all| all[*at].to_owned())).count();
    let after = (0..least - before).take_while(|at| alike(&|all| all[all.len() - 1 - at].to_owned())).count();
    let short: Vec<String> = words.iter().map(|all| all[before..all.len() - after].join(" ")).collect();
    let names = if short.iter().any(String::is_empty) { full } else { short };
    let told_apart = |(place, name): (usize, &String)| {
        let several = names.iter().filter(|other| *other == name).count() > 1;
        if several || name.is_empty() { format!("{name} (run {})", place + 1) } else { name.clone() }
    };
    names.iter().enumerate().map(told_apart).collect()
}

/// At most `most` loads, in order. If there are more, the extremes and even steps between them in every varying trait;
/// if that is not possible, the first.
pub(super) fn thinned(loads: &[Traits], most: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..loads.len()).collect();
    let dimensions = loads.iter().map(Vec::len).min().unwrap_or(0);
    let mut values: Vec<Vec<&str>> = vec![Vec::new(); dimensions];
    for load in loads {
        for (known, value) in values.iter_mut().zip(load) {
            if !known.contains(&value.as_str()) {
                known.push(value);
            }
        }
    }
    let mut room: Vec<usize> = values.iter().map(Vec::len).collect();
    while kept.len() > most {
        // The largest dimension first, of several the first.
        let Some(widest) = (0..dimensions).rev().filter(|d| room[*d] > 2).max_by_key(|d| room[*d]) else { break };
        room[widest] -= 1;
        let wanted = |load: &Traits| {
            (0..dimensions).all(|d| {
                let (of, last) = (&values[d], room[d] - 1);
                room[d] == of.len() || (0..=last).any(|step| of[(step * (of.len() - 1) + last / 2) / last] == load[d])
            })
        };
        let fewer: Vec<usize> = (0..loads.len()).filter(|load| wanted(&loads[*load])).collect();
        // Loads that lie across their dimensions have few ends in common.
        if fewer.len() * 4 < most {
            break;
        }
        kept = fewer;
    }
    kept.truncate(most);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matrix(sizes: &[usize]) -> Vec<Traits> {
        sizes.iter().fold(vec![Vec::new()], |loads, size| {
            let longer = |load: &Traits| -> Vec<Traits> {
                (0..*size).map(|value| [load.clone(), vec![value.to_string()]].concat()).collect()
            };
            loads.iter().flat_map(longer).collect()
        })
    }

    #[test]
    fn of_a_matrix_the_ends_and_the_middle_are_kept() {
        let loads = matrix(&[2, 5, 5]);
        let kept: Vec<String> = thinned(&loads, 12).into_iter().map(|load| loads[load].concat()).collect();
        assert_eq!(kept.len(), 12);
        for load in ["000", "002", "004", "040", "042", "044", "100", "144"] {
            assert!(kept.iter().any(|name| name == load), "{load} in {kept:?}");
        }
    }

    #[test]
    fn what_fits_is_kept_whole_and_what_lies_across_never_vanishes() {
        assert_eq!(thinned(&matrix(&[3, 4]), 12).len(), 12);
        let across: Vec<Traits> = (0..40).map(|n| vec![n.to_string(), (n * 7 % 40).to_string()]).collect();
        assert!((3..=12).contains(&thinned(&across, 12).len()));
        assert_eq!(thinned(&[], 12), Vec::<usize>::new());
    }

    proptest! {
        #[test]
        fn never_more_than_there_is_room_for_and_never_nothing(
            loads in prop::collection::vec(prop::collection::vec("[a-e]", 3), 0..80), most in 1usize..20
        ) {
            let kept = thinned(&loads, most);
            prop_assert!(kept.len() <= most && kept.is_empty() == loads.is_empty());
            prop_assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(kept.iter().all(|load| *load < loads.len()));
        }
    }
}
