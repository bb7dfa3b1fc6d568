//! Numbers as tools print them, in any locale.

/// A number with a decimal point or a decimal comma, quoted or not, with a percent sign or not. `None` for a blank and for
/// anything else.
pub(crate) fn number(text: &str) -> Option<f64> {
    let text = text.trim().trim_matches('"').trim().trim_end_matches('%').trim_end();
    if text.is_empty() {
        return None;
    }
    let plain = match (text.rfind(','), text.rfind('.')) {
        (None, _) => text.to_owned(),
        (Some(_), None) => text.replacen(',', ".", 1),
        // Of two kinds of separators the last is the decimal one.
        (Some(comma), Some(point)) if comma > point => text.replace('.', "").replace(',', "."),
        (Some(_), Some(_)) => text.replace(',', ""),
    };
    plain.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0)
}

/// The same with a suffix of powers of 1024, as `iostat -h` prints them: "4.0k".
pub(crate) fn scaled(text: &str) -> Option<f64> {
    let text = text.trim();
    let factor = match text.chars().last()? {
        'k' | 'K' => 1024.0,
        'M' => 1024.0 * 1024.0,
        'G' => 1024.0 * 1024.0 * 1024.0,
        _ => return number(text),
    };
    number(&text[..text.len() - 1]).map(|value| value * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_points_and_commas_read_the_same() {
        for text in ["1234.5", "1234,5", "\"1234.5\"", "1,234.5", "1.234,5", " 1234.5 %"] {
            assert_eq!(number(text), Some(1234.5), "{text}");
        }
        assert_eq!([number(" "), number("-"), number("x"), number("nan"), number("-1")], [None; 5]);
        assert_eq!(scaled("4.0k"), Some(4096.0));
        assert_eq!(scaled("7"), Some(7.0));
    }
}
