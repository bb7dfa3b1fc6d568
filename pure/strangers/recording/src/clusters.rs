//! Answers that come in clusters: a rate limiter behind the queue lets a budget through, and nothing until the next one.

/// A pause is no part of a cluster from here on, ns.
const PAUSE_MIN_NS: u64 = 1_000_000;
/// And from this many times the mean distance of answers on.
const PAUSE_FACTOR: u64 = 4;
/// Clusters that show a rhythm.
const CLUSTERS_MIN: usize = 20;
/// Distances within this share of their median are the same.
const ALIKE: f64 = 0.2;
/// The share of distances that must be the same.
const ALIKE_SHARE: f64 = 0.6;
/// Answers of a cluster on average.
const ANSWERS_MIN: f64 = 3.0;

/// A rhythm of clusters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnswerClusters {
    /// From the beginning of a cluster to that of the next, ns.
    pub every_ns: u64,
    /// Answers of a cluster on average.
    pub answers: f64,
    /// The share of clusters with that distance.
    pub share: f64,
}

/// The rhythm of answers, each given as the times of its submission and completion in ns, in the order of completions. `None`:
/// there is none.
///
/// A pause counts only if the answer after it was already waited for when it began: otherwise nothing was asked.
#[must_use]
pub fn clusters(answers: &[(u64, u64)]) -> Option<AnswerClusters> {
    let (first, last) = (answers.first()?, answers.last()?);
    let mean = last.1.saturating_sub(first.1) / answers.len() as u64;
    let pause = PAUSE_MIN_NS.max(PAUSE_FACTOR * mean);
    let (mut distances, mut own, mut counted) = (Vec::new(), 1_u64, 0_u64);
    // Where the cluster began, if it began with a pause.
    let mut begun: Option<u64> = None;
    for pair in answers.windows(2) {
        let ((_, before), (sent, done)) = (pair[0], pair[1]);
        if done.saturating_sub(before) < pause {
            own += 1;
            continue;
        }
        let is_waited_for = sent <= before;
        if let Some(begun) = begun.filter(|_| is_waited_for) {
            distances.push(done - begun);
            counted += own;
        }
        (begun, own) = (is_waited_for.then_some(done), 1);
    }
    if distances.len() < CLUSTERS_MIN {
        return None;
    }
    distances.sort_unstable();
    let every_ns = distances[distances.len() / 2];
    let is_alike = |distance: &&u64| (**distance as f64 / every_ns as f64 - 1.0).abs() <= ALIKE;
    let share = distances.iter().filter(is_alike).count() as f64 / distances.len() as f64;
    let mean = counted as f64 / distances.len() as f64;
    (share >= ALIKE_SHARE && mean >= ANSWERS_MIN).then_some(AnswerClusters { every_ns, answers: mean, share })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_budget_for_every_tenth_of_a_second_shows() {
        // Fifty answers at once, every 100 ms, of requests that waited since the clusters before.
        let answers: Vec<(u64, u64)> = (1..60)
            .flat_map(|cluster| (0..50).map(move |one| ((cluster - 1) * 100 * MS, cluster * 100 * MS + one * 20_000)))
            .collect();
        let found = clusters(&answers).unwrap();
        assert_eq!((found.every_ns, found.answers), (100 * MS, 50.0));
        assert!(found.share > 0.99);
    }

    #[test]
    fn steady_answers_slow_ones_and_pauses_in_which_nothing_was_asked_show_none() {
        let steady: Vec<(u64, u64)> = (1..5_000).map(|one| ((one - 1) * 2 * MS, one * 2 * MS)).collect();
        assert_eq!(clusters(&steady), None);
        let one_by_one: Vec<(u64, u64)> = (1..500).map(|one| ((one - 1) * 100 * MS, one * 100 * MS)).collect();
        assert_eq!(clusters(&one_by_one), None);
        let asked_in_clusters: Vec<(u64, u64)> = (1..60)
            .flat_map(|cluster| (0..50).map(move |one| (cluster * 100 * MS, cluster * 100 * MS + (one + 1) * 20_000)))
            .collect();
        assert_eq!(clusters(&asked_in_clusters), None);
        assert_eq!(clusters(&[]), None);
    }
}
