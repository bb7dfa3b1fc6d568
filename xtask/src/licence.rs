//! Licence expressions (SPDX 2.3, annex D: AND, OR, WITH, parentheses), and whether a list of accepted licences meets one.

/// Whether `accepted` allows using what is under `expression`. The old form "MIT/Apache-2.0" counts as OR.
///
/// # Errors
/// What is wrong with the expression.
pub(crate) fn is_met(expression: &str, accepted: &[String]) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = Words { words: spaced.split_whitespace().collect(), next: 0 };
    let met = words.any(accepted)?;
    match words.peek() {
        None => Ok(met),
        Some(word) => Err(format!("unexpected {word:?} in {expression:?}")),
    }
}

struct Words<'a> {
    words: Vec<&'a str>,
    next: usize,
}

impl<'a> Words<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).copied()
    }
    fn take_if(&mut self, wanted: &str) -> bool {
        let found = self.peek().is_some_and(|word| word.eq_ignore_ascii_case(wanted));
        self.next += usize::from(found);
        found
    }
    fn take(&mut self) -> Result<&'a str, String> {
        let word = self.peek().ok_or("the expression ends too early")?;
        self.next += 1;
        Ok(word)
    }
    /// OR binds least.
    fn any(&mut self, accepted: &[String]) -> Result<bool, String> {
        let mut met = self.all(accepted)?;
        while self.take_if("OR") {
            met |= self.all(accepted)?;
        }
        Ok(met)
    }
    fn all(&mut self, accepted: &[String]) -> Result<bool, String> {
        let mut met = self.one(accepted)?;
        while self.take_if("AND") {
            met &= self.one(accepted)?;
        }
        Ok(met)
    }
    fn one(&mut self, accepted: &[String]) -> Result<bool, String> {
        if self.take_if("(") {
            let met = self.any(accepted)?;
            return if self.take_if(")") { Ok(met) } else { Err("a parenthesis is not closed".into()) };
        }
        let licence = self.take()?;
        if ["AND", "OR", "WITH", ")"].contains(&licence) {
            return Err(format!("a licence is missing before {licence:?}"));
        }
        // An exception only grants more: whoever accepts the licence accepts it with any exception.
        let with = if self.take_if("WITH") { Some(format!("{licence} WITH {}", self.take()?)) } else { None };
        Ok(accepted.iter().any(|name| name == licence || Some(name) == with.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(expression: &str) -> bool {
        let accepted = ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        is_met(expression, &accepted).unwrap()
    }

    #[test]
    fn any_side_of_or_is_enough_and_both_sides_of_and_are_needed() {
        assert!(met("MIT"));
        assert!(met("MIT OR GPL-3.0-only"));
        assert!(met("GPL-3.0-only/MIT"));
        assert!(met("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(!met("MIT AND GPL-3.0-only"));
        assert!(!met("GPL-3.0-only"));
    }

    #[test]
    fn and_binds_closer_than_or() {
        assert!(met("MIT OR GPL-2.0-only AND GPL-3.0-only"));
        assert!(!met("(MIT OR GPL-2.0-only) AND GPL-3.0-only"));
    }

    #[test]
    fn an_exception_belongs_to_its_licence() {
        assert!(met("Apache-2.0 WITH LLVM-exception"));
        assert!(!met("Apache-2.0"));
        assert!(met("MIT WITH some-exception"));
    }

    #[test]
    fn a_broken_expression_is_an_error() {
        for broken in ["", "MIT OR", "(MIT", "MIT)", "AND MIT", "MIT Apache-2.0"] {
            assert!(is_met(broken, &["MIT".to_owned()]).is_err(), "{broken:?}");
        }
    }
}
