//! The terminal: how large it is, and whether it draws.

/// Where it does not say how large it is.
const SIZE: (usize, usize) = (80, 24);

/// Columns and lines of the terminal on standard error.
pub(crate) fn size() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(SIZE, |(width, height)| (width.0.into(), height.0.into()))
}

/// Whether a screen is drawn on it: never.
pub(crate) const fn is_foreground() -> bool {
    false
}

/// Has the terminal take colours and moves of the cursor; `false` where it does not.
pub(crate) fn takes_sequences() -> bool {
    anstyle_query::windows::enable_ansi_colors().unwrap_or(true)
}
