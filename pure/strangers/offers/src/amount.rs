//! Amounts of money as lists write them, exactly.

/// Digits after which a fraction has no effect on a billionth.
const DIGITS_MAX: usize = 30;
/// A text of an amount is no longer.
const LENGTH_MAX: usize = 100;
/// Billionths have so many places.
const PLACES: i32 = 9;

/// Why a text is no amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// Not a decimal number with a point.
    #[error("is no decimal number")]
    NotANumber,
    /// Below 0.
    #[error("is below 0")]
    Negative,
    /// Above what can be counted in billionths.
    #[error("is larger than any price")]
    TooLarge,
}

/// A decimal number, also with an exponent, in billionths; the tenth place is rounded.
///
/// # Errors
/// [`AmountError`].
pub fn billionths(text: &str) -> Result<u64, AmountError> {
    let text = text.trim();
    if text.len() > LENGTH_MAX {
        return Err(AmountError::NotANumber);
    }
    let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i16>().map_err(|_| AmountError::NotANumber)?),
        None => (text, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !are_digits(whole) || !are_digits(fraction) || number.ends_with('.') {
        return Err(AmountError::NotANumber);
    }
    let digits: String = format!("{whole}{fraction}").trim_start_matches('0').to_owned();
    if digits.is_empty() {
        return Ok(0);
    }
    if is_negative {
        return Err(AmountError::Negative);
    }
    let kept = &digits[..digits.len().min(DIGITS_MAX)];
    let mantissa: u128 = kept.parse().map_err(|_| AmountError::NotANumber)?;
    // Both are at most LENGTH_MAX.
    let length = |text: &str| i32::try_from(text.len()).unwrap_or(i32::MAX);
    let power = PLACES + i32::from(exponent) - length(fraction) + length(&digits) - length(kept);
    let found = if power >= 0 {
        let factor = 10_u128.checked_pow(power as u32).ok_or(AmountError::TooLarge)?;
        mantissa.checked_mul(factor).ok_or(AmountError::TooLarge)?
    } else {
        10_u128.checked_pow(power.unsigned_abs()).map_or(0, |divisor| (mantissa + divisor / 2) / divisor)
    };
    u64::try_from(found).map_err(|_| AmountError::TooLarge)
}
