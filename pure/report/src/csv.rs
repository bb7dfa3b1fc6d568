//! CSV for spreadsheets and scripts: RFC 4180.

/// One line with its fields quoted as needed.
pub(crate) fn record(out: &mut String, fields: impl Iterator<Item = String>) {
    for (index, field) in fields.enumerate() {
        if index > 0 {
            out.push(',');
        }
        if field.contains(['"', ',', '\r', '\n']) || field.starts_with(' ') || field.ends_with(' ') {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(&field);
        }
    }
    out.push_str("\r\n");
}

/// A float at full precision; empty when missing or no number.
pub(crate) fn float(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map_or_else(String::new, |v| v.to_string())
}
