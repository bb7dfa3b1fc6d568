//! Findings as terminal tables, Markdown and one self-contained HTML file.
