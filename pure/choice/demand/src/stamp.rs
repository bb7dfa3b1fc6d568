//! Times of day and timestamps, as far as the distance between two of them needs.

use loadline_units::Date;

/// Seconds of a day.
pub(crate) const DAY_S: f64 = 86_400.0;

/// The seconds since midnight of the first "HH:MM:SS" in a text, with AM or PM behind it if there is one.
pub(crate) fn time_of_day(text: &str) -> Option<f64> {
    let words: Vec<&str> = text.split([' ', 'T', '\t']).filter(|word| !word.is_empty()).collect();
    let (index, seconds) = words.iter().enumerate().find_map(|(index, word)| Some((index, clock(word)?)))?;
    let half = words.get(index + 1).map(|word| word.to_ascii_uppercase());
    Some(match half.as_deref() {
        Some("PM") if seconds < DAY_S / 2.0 => seconds + DAY_S / 2.0,
        Some("AM") if seconds >= DAY_S / 2.0 => seconds - DAY_S / 2.0,
        _ => seconds,
    })
}

/// "07:08:09" or "07:08:09.123", with a zone behind it or not.
fn clock(word: &str) -> Option<f64> {
    let word = word.trim_end_matches('Z');
    let word = word.split(['+']).next()?;
    let mut parts = word.split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || hour.is_empty() || hour.len() > 2 || minute.len() != 2 {
        return None;
    }
    let second = second.split('-').next()?;
    let (hour, minute, second): (f64, f64, f64) =
        (hour.parse().ok()?, minute.parse().ok()?, second.replace(',', ".").parse().ok()?);
    (hour < 24.0 && minute < 60.0 && second < 61.0).then_some(hour * 3_600.0 + minute * 60.0 + second)
}

/// Seconds since 1970 of an ISO 8601 time such as "2024-05-06T07:08:09Z", "2024-05-06 07:08:09" or with an offset.
pub(crate) fn iso_seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let days = Date::of_text(date)?.days();
    let rest = rest.trim_start_matches(['T', ' ']);
    let (time, offset) = split_offset(rest);
    let time = if time.is_empty() { 0.0 } else { clock(&with_seconds(time))? };
    Some(days as f64 * DAY_S + time - offset)
}

fn with_seconds(time: &str) -> String {
    if time.matches(':').count() == 1 { format!("{time}:00") } else { time.to_owned() }
}

/// The time and its offset from UTC in seconds.
fn split_offset(text: &str) -> (&str, f64) {
    let text = text.trim_end_matches("UTC").trim_end().trim_end_matches('Z');
    let Some(at) = text.rfind(['+', '-']) else { return (text, 0.0) };
    let digits: String = text[at + 1..].chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes) = (digits.get(..2).unwrap_or("0"), digits.get(2..4).unwrap_or("0"));
    let seconds = hours.parse::<f64>().unwrap_or(0.0) * 3_600.0 + minutes.parse::<f64>().unwrap_or(0.0) * 60.0;
    (text[..at].trim_end(), if text.as_bytes()[at] == b'-' { -seconds } else { seconds })
}

/// The lengths of intervals that end at these times of day. Midnight may pass. The first has the length of the second.
pub(crate) fn lengths(times: &[f64], day: Option<f64>) -> Option<Vec<f64>> {
    let gap = |pair: &[f64]| {
        let gap = pair[1] - pair[0];
        if gap < 0.0 { gap + day.unwrap_or(0.0) } else { gap }
    };
    let gaps: Vec<f64> = times.windows(2).map(gap).collect();
    let first = *gaps.first()?;
    Some(std::iter::once(first).chain(gaps).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_in_every_form_that_sysstat_prints() {
        let seven = 7.0 * 3_600.0 + 8.0 * 60.0 + 9.0;
        for text in ["05/06/24 07:08:09", "06.05.2024 07:08:09", "2024-05-06T07:08:09+0000", "05/06/2024 07:08:09 AM"] {
            assert_eq!(time_of_day(text), Some(seven), "{text}");
        }
        assert_eq!(time_of_day("05/06/2024 07:08:09 PM"), Some(seven + 43_200.0));
        assert_eq!(time_of_day("05/06/2024 12:08:09 AM"), Some(489.0));
        assert_eq!(time_of_day("avg-cpu:  %user"), None);
    }

    #[test]
    fn midnight_passes_and_instants_are_exact() {
        assert_eq!(lengths(&[86_340.0, 0.0, 60.0], Some(DAY_S)), Some(vec![60.0, 60.0, 60.0]));
        assert_eq!(lengths(&[1.0], Some(DAY_S)), None);
        assert_eq!(iso_seconds("1970-01-02T00:00:01Z"), Some(86_401.0));
        assert_eq!(iso_seconds("2024-05-06T07:08:09+02:00"), iso_seconds("2024-05-06 05:08:09 UTC"));
        assert_eq!(iso_seconds("2024-05-06T07:08Z"), iso_seconds("2024-05-06T07:08:00Z"));
        assert_eq!([iso_seconds("nonsense"), iso_seconds("2024-02-31T07:08:09Z")], [None; 2]);
    }
}
