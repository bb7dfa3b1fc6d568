//! What a look at a machine, or at a catalog, came to, in lines.

use crate::verdict_line::{About, VerdictLine};

/// Troubles that the verdict has in full.
const TROUBLES_MAX: usize = 5;

/// A look at a machine.
#[derive(Debug)]
pub struct Checkup<'a> {
    /// What would spoil a measurement: what it is of, and what was seen.
    pub troubles: Vec<Trouble<'a>>,
    /// Things to be known when figures are read.
    pub notes: usize,
    /// The command that measures.
    pub measure: &'a str,
    /// The command that looks again.
    pub again: &'a str,
}

/// A thing that would spoil a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Trouble<'a> {
    /// What was looked at.
    pub what: &'a str,
    /// What was seen.
    pub seen: &'a str,
}

/// Whether to measure here, what stands against it, and what to type next.
#[must_use]
pub fn checkup_lines(of: &Checkup<'_>) -> Vec<VerdictLine> {
    if of.troubles.is_empty() {
        let notes = match of.notes {
            0 => String::new(),
            1 => "; the note above qualifies figures".to_owned(),
            notes => format!("; the {notes} notes above qualify figures"),
        };
        return vec![
            About::Verdict.says(format!("nothing seen that would spoil a measurement here{notes}")),
            About::Next.says("measure"),
            About::Command.says(of.measure),
        ];
    }
    let count = of.troubles.len();
    let things = if count == 1 { "1 thing".to_owned() } else { format!("{count} things") };
    let mut lines = vec![About::Verdict.says(format!("{things} would spoil a measurement here, or prevent it"))];
    let shown = of.troubles.iter().take(TROUBLES_MAX);
    lines.extend(shown.map(|trouble| About::subject(trouble.what.to_owned()).says(trouble.seen)));
    let more = count.saturating_sub(TROUBLES_MAX);
    lines.extend((more > 0).then(|| About::More.says(format!("{more} more stand first in the table"))));
    lines.extend([About::Next.says("mend that, and look again"), About::Command.says(of.again)]);
    lines
}

/// A look at a catalog.
#[derive(Debug)]
pub struct CatalogCheck<'a> {
    /// Problems.
    pub problems: usize,
    /// The first: where it is, of what, and what is wrong.
    pub first: Option<[&'a str; 3]>,
    /// Disks, VM sizes, and limits of machines by disk type.
    pub looked_at: [usize; 3],
    /// The command that shows what there is.
    pub command: &'a str,
}

/// What is wrong, and what was looked at.
#[must_use]
pub fn catalog_lines(of: &CatalogCheck<'_>) -> Vec<VerdictLine> {
    let found = match of.problems {
        0 => "nothing is wrong".to_owned(),
        1 => "1 problem".to_owned(),
        count => format!("{count} problems"),
    };
    let [disks, sizes, limits] = of.looked_at;
    let looked_at = format!("{disks} disks, {sizes} VM sizes and {limits} limits of machines by disk type");
    let mut lines = vec![About::Verdict.says(found), About::LookedAt.says(looked_at)];
    match of.first {
        Some([place, name, text]) => lines.extend([
            About::FirstProblem.says(format!("{place}: {name} {text}")),
            About::Next.says("mend the file, and check again"),
        ]),
        None => lines.push(About::Command.says(of.command)),
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VERDICT_LINES_MAX;

    #[test]
    fn the_verdict_names_every_trouble_for_which_it_has_room_and_ends_in_a_command() {
        let names: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        let of = |count: usize| {
            let troubles = names[..count].iter().map(|what| Trouble { what, seen: "is wrong" }).collect();
            checkup_lines(&Checkup { troubles, notes: 0, measure: "quick", again: "doctor" })
        };
        let well = of(0);
        assert!(well[0].text.starts_with("nothing seen"), "{well:?}");
        assert_eq!(well.last().unwrap().text, "quick");
        let one = of(1);
        assert_eq!(
            (&one[1], one.last()),
            (&About::subject("0").says("is wrong"), Some(&About::Command.says("doctor")))
        );
        let many = of(20);
        assert_eq!(many.len(), VERDICT_LINES_MAX);
        assert!(many.iter().any(|line| line.about == About::More && line.text.starts_with("15 more")), "{many:?}");
    }
}
