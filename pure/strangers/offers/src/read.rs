//! Tells what an answer is by its first characters.

use crate::answer::{AnswerError, PriceAnswer, Reading};
use crate::{comma, json};
use std::io::BufRead;

/// Reads an answer, told by its content. `today` is the day before which a price must have begun.
///
/// # Errors
/// [`AnswerError`].
pub fn read(mut input: impl BufRead, today: &str) -> Result<PriceAnswer, AnswerError> {
    let mut reading = Reading::new(today);
    loop {
        let chunk = input.fill_buf()?;
        let blank =
            chunk.iter().take_while(|byte| byte.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(byte)).count();
        if chunk.is_empty() {
            return Err(AnswerError::Empty);
        }
        if blank < chunk.len() {
            input.consume(blank);
            break;
        }
        input.consume(blank);
    }
    let head = input.fill_buf()?;
    let head = String::from_utf8_lossy(&head[..head.len().min(200)]).into_owned();
    match head.chars().next() {
        Some('{' | '[') => json::read(input, &mut reading)?,
        Some(_) if head.starts_with("\"FormatVersion\"") || head.starts_with("FormatVersion,") => {
            comma::read(input, &mut reading)?;
        }
        Some(_) if head.lines().any(|line| ["about:", "---", "region:", "compute:"].contains(&line.trim_end())) => {
            return Err(AnswerError::Yaml);
        }
        _ => return Err(AnswerError::Unknown { begins: head.chars().take(40).collect() }),
    }
    reading.finish()
}
