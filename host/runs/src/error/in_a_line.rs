//! An error with its causes as text.

/// An error with its causes in a line, outermost first. A cause that is quoted already is not repeated.
pub(crate) fn in_a_line(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut last = text.clone();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !last.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
            last = cause_text;
        }
        next = cause.source();
    }
    text
}
