//! From significances to verdicts, with what many looks at once would turn up by chance taken into account.

use super::comparison::Verdict;
use super::figure::Figure;
use super::indecision::Undecided;
use super::ratio::LogRatio;
use crate::statistics::CONFIDENCE;

/// How often a comparison in which nothing differs may call anything better or worse. Half of what an interval leaves out: at 5 % every
/// other set of 200 comparisons would have more than its ten false ones, and the t of so few trials whose variances differ is not exact.
const FALSE_CALLS: f64 = 0.025;

/// Looks that are judged together: everything that one comparison says.
///
/// The chance that any of them is called better or worse while nothing differs stays below [`FALSE_CALLS`], however many there are. Half
/// of it goes to the overall looks and half to the cells, each half shared by Holm's rule (S. Holm, Scandinavian Journal of
/// Statistics 6, 1979). A half all of whose looks came out different hands its share to the other (F. Bretz and others,
/// Statistics in Medicine 28, 2009).
pub(super) fn adjusted(overall: &[f64], cells: &[f64]) -> (Vec<f64>, Vec<f64>) {
    if overall.is_empty() || cells.is_empty() {
        return (holm(overall), holm(cells));
    }
    let halved = |p: &[f64]| -> Vec<f64> { holm(p).into_iter().map(|p| (2.0 * p).min(1.0)).collect() };
    let (overall_halved, cells_halved) = (halved(overall), halved(cells));
    let worst = |p: &[f64]| p.iter().copied().fold(0.0, f64::max);
    let after = |p: &[f64], floor: f64| -> Vec<f64> { holm(p).into_iter().map(|p| p.max(floor)).collect() };
    let (most_overall, most_cells) = (worst(&overall_halved), worst(&cells_halved));
    if most_overall <= FALSE_CALLS {
        (overall_halved, after(cells, most_overall))
    } else if most_cells <= FALSE_CALLS {
        (after(overall, most_cells), cells_halved)
    } else {
        (overall_halved, cells_halved)
    }
}

/// Holm's adjusted significances, in the order of `p`: the k-th smallest of n times n - k + 1, never below a smaller one's.
fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let (mut adjusted, mut least) = (vec![1.0; p.len()], 0.0f64);
    for (rank, index) in order.into_iter().enumerate() {
        least = least.max((p[index] * (p.len() - rank) as f64).min(1.0));
        adjusted[index] = least;
    }
    adjusted
}

/// What can be said of a ratio, and why if it is nothing.
pub(super) fn verdict(
    figure: Figure,
    ratio: &LogRatio,
    margin: f64,
    p_adjusted: Option<f64>,
) -> (Verdict, Option<Undecided>) {
    let cannot = |why| (Verdict::CannotTell, Some(why));
    let (Some(p_same), Some(p_value), Some(p_adjusted)) = (ratio.p_same(margin), ratio.p_different(), p_adjusted)
    else {
        return cannot(Undecided::ErrorNotKnown);
    };
    let level = 1.0 - CONFIDENCE;
    if p_same <= level {
        return (Verdict::Same, None);
    }
    if p_adjusted <= FALSE_CALLS {
        let better = (ratio.log > 0.0) == figure.more_is_better();
        return (if better { Verdict::Better } else { Verdict::Worse }, None);
    }
    if p_value <= FALSE_CALLS {
        return cannot(Undecided::ManyLooks);
    }
    if p_value <= level {
        return cannot(Undecided::Narrowly);
    }
    cannot(Undecided::WideInterval)
}

#[cfg(test)]
mod tests {
    use super::super::figure::Basis;
    use super::super::ratio::LogError;
    use super::*;
    use crate::statistics::tests::close;

    #[track_caller]
    fn all_close(got: &[f64], wanted: &[f64]) {
        assert_eq!(got.len(), wanted.len());
        got.iter().zip(wanted).for_each(|(g, w)| close(*g, *w, 1e-12));
    }

    #[test]
    fn holm_multiplies_the_smallest_most_and_keeps_the_order() {
        all_close(&holm(&[0.01, 0.04, 0.03]), &[0.03, 0.06, 0.06]);
        all_close(&holm(&[0.5, 0.9]), &[1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn a_half_that_is_through_hands_its_share_over() {
        // Overall 0.01 doubled is through at 0.02: the cells keep Holm's figures, and none is below 0.02.
        let (overall, cells) = adjusted(&[0.01], &[0.004, 0.03]);
        all_close(&overall, &[0.02]);
        all_close(&cells, &[0.02, 0.03]);
        // Overall at 0.03 is not.
        let (overall, cells) = adjusted(&[0.03], &[0.005, 0.03]);
        all_close(&overall, &[0.06]);
        all_close(&cells, &[0.02, 0.06]);
        // Every cell is through: the overall look has the whole chance.
        let (overall, cells) = adjusted(&[0.03], &[0.001, 0.002]);
        all_close(&overall, &[0.03]);
        all_close(&cells, &[0.004, 0.004]);
        // One look needs no correction.
        assert_eq!(adjusted(&[], &[0.03]), (vec![], vec![0.03]));
    }

    #[test]
    fn a_narrow_difference_is_not_called_one() {
        // Two standard errors away, which chance alone makes in 1 of 20 comparisons or so.
        let ratio = |errors: f64| {
            let (variance, freedom) = (1e-4, crate::compare::sample::FREEDOM_MAX);
            let error = Some(LogError { variance, freedom, basis: Basis::Trials });
            LogRatio { log: errors * 0.01 + 0.02, error }
        };
        let of = |ratio: LogRatio| verdict(Figure::Rate, &ratio, 0.03, ratio.p_different());
        let (narrow, why) = of(ratio(0.1));
        assert_eq!(narrow, Verdict::CannotTell);
        assert_eq!(why, Some(Undecided::Narrowly));
        assert_eq!(of(ratio(1.0)).0, Verdict::Better);
    }
}
