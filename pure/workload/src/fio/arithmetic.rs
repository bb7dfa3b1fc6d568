//! Arithmetic in values: whole expressions in parentheses, and what fio computes after it has put a number for a keyword.

use super::units::{self, Base};

/// Parentheses within each other at most.
const NESTED_MAX: usize = 32;

/// The value of an expression; `None` if it is none, or its value is no whole number. `base` is the meaning of `k` behind a number;
/// without one numbers have no suffix.
pub(super) fn evaluate(text: &str, base: Option<Base>) -> Option<u64> {
    let mut reader = Reader { rest: text, base, depth: 0 };
    let value = reader.sum()?;
    (reader.peek().is_none()).then(|| u64::try_from(value).ok()).flatten()
}

struct Reader<'a> {
    rest: &'a str,
    base: Option<Base>,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    /// Passes one of these signs.
    fn sign(&mut self, signs: &[char]) -> Option<char> {
        let sign = self.peek().filter(|sign| signs.contains(sign))?;
        self.rest = &self.rest[sign.len_utf8()..];
        Some(sign)
    }

    fn sum(&mut self) -> Option<i128> {
        let mut value = self.product()?;
        while let Some(sign) = self.sign(&['+', '-']) {
            let other = self.product()?;
            value = if sign == '+' { value.checked_add(other)? } else { value.checked_sub(other)? };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i128> {
        let mut value = self.power()?;
        while let Some(sign) = self.sign(&['*', '/', '%']) {
            let other = self.power()?;
            value = match sign {
                '*' => value.checked_mul(other)?,
                '/' => value.checked_div(other)?,
                _ => value.checked_rem(other)?,
            };
        }
        Some(value)
    }

    fn power(&mut self) -> Option<i128> {
        let mut values = vec![self.atom()?];
        while self.sign(&['^']).is_some() {
            values.push(self.atom()?);
        }
        // The last one is the exponent of the one before it.
        let last = values.pop()?;
        values.into_iter().rev().try_fold(last, |power, value| value.checked_pow(u32::try_from(power).ok()?))
    }

    fn atom(&mut self) -> Option<i128> {
        self.depth += 1;
        if self.depth > NESTED_MAX {
            return None;
        }
        let value = if self.sign(&['(']).is_some() {
            let value = self.sum()?;
            self.sign(&[')'])?;
            value
        } else if self.sign(&['-']).is_some() {
            self.atom()?.checked_neg()?
        } else {
            self.peek()?;
            let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
            let (number, rest) = self.rest.split_at(end);
            self.rest = rest;
            i128::from(match self.base {
                Some(base) => units::integer(number, base)?,
                None => number.parse().ok()?,
            })
        };
        self.depth -= 1;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_the_usual_order_and_suffixes() {
        let of = |text: &str| evaluate(text, Some(Base::Binary));
        assert_eq!(of("(10*10)"), Some(100));
        assert_eq!(of("((10 + 2) * 4k)"), Some(12 << 12));
        assert_eq!(of("(2 + 3 * 4)"), Some(14));
        assert_eq!(of("(2^3^2)"), Some(512));
        assert_eq!(of("(10/4) "), Some(2));
        assert_eq!(of("(10 % 4 - 1)"), Some(1));
        assert_eq!(of("(-4k+8k)"), Some(4096));
        assert_eq!(of("(1 - 2)"), None, "no size is negative");
        for wrong in ["", "(", "(1", "1)", "(1*)", "(1//2)", "(1/0)", "(x)", "(1.5*2)", "(2^9999999999)"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        assert_eq!(of(&"(".repeat(100_000)), None);
        assert_eq!(of(&format!("(1{})", "^1".repeat(100_000))), Some(1));
        assert_eq!(evaluate("4096*2", None), Some(8192));
        assert_eq!(evaluate("4k*2", None), None, "fio hands it to a calculator that has no suffixes");
    }
}
