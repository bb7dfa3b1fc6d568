//! Numbers as tools print them, in any locale.

const SECTOR: f64 = loadline_units::SECTOR.get() as f64;

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

/// Bytes in this unit, as in "561.5"; a cell with a unit has its own, as `--human` prints it: "4.6M", "12s" (sectors), "0B".
pub(crate) fn with_unit(text: &str, unit: f64) -> Option<f64> {
    let text = text.trim();
    let power = match text.chars().last()? {
        's' => return Some(number(&text[..text.len() - 1])? * SECTOR),
        'B' => 0,
        'k' | 'K' => 1,
        'M' => 2,
        'G' => 3,
        'T' => 4,
        'P' => 5,
        _ => return Some(number(text)? * unit),
    };
    Some(number(&text[..text.len() - 1])? * 1024.0_f64.powi(power))
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
        assert_eq!([with_unit("4.0k", 1024.0), with_unit("4.0M", 1024.0)], [Some(4096.0), Some(4_194_304.0)]);
        assert_eq!(
            [with_unit("7", 1024.0), with_unit("8s", 1.0), with_unit("0B", 9.0)],
            [Some(7168.0), Some(4096.0), Some(0.0)]
        );
    }
}
