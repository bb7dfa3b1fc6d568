//! Crawls out of a table that somebody published, as CSV: one line for each crawl and source.
//!
//! ```text
//! crawl,source,items,duration,rate,latency
//! Dev,share,0,0:00:47,0 /s,
//! Prod,share,73769,6:48:56,3.1 /s,6935 ms
//! ```

use super::figures::{CrawlFigures, SourceFigures};
use loadline_units::{Duration, NS_PER_S};

/// Columns that must be there, and those that may.
const NEEDED: [&str; 4] = ["crawl", "source", "items", "duration"];
const KNOWN: [&str; 8] = ["crawl", "source", "items", "duration", "rate", "latency", "failed", "slots"];
/// A column that begins so is a fact of the crawl: "fact cpu".
const FACT: &str = "fact ";

/// A table that cannot be read. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CrawlTableError {
    /// Nothing.
    #[error("the table is empty: its first line names the columns, as in crawl,source,items,duration,rate,latency")]
    Empty,
    /// A column is missing.
    #[error("the table has no column {0:?}: it needs crawl, source, items and duration")]
    Missing(&'static str),
    /// A column is not known.
    #[error("column {name:?} is not known{}", nearest.map(|of| format!(": did you mean {of:?}?")).unwrap_or_default())]
    Column {
        /// Its name.
        name: String,
        /// The nearest that is.
        nearest: Option<&'static str>,
    },
    /// A line has another number of cells.
    #[error("line {line} has {cells} cells and the first line {columns}")]
    Cells {
        /// The line.
        line: usize,
        /// Its cells.
        cells: usize,
        /// Columns.
        columns: usize,
    },
    /// A value is none.
    #[error("line {line}, column {column}: {text:?} is not {wanted}")]
    Value {
        /// The line.
        line: usize,
        /// The column.
        column: String,
        /// The text.
        text: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A crawl has a source twice.
    #[error("line {line}: crawl {crawl:?} has source {source_name:?} twice")]
    Twice {
        /// The line.
        line: usize,
        /// The crawl.
        crawl: String,
        /// The source.
        source_name: String,
    },
}

impl CrawlFigures {
    /// Reads the crawls of a table, in the order in which they first stand in it.
    ///
    /// Durations are `h:mm:ss` or a quantity with its unit; rates "3.1 /s"; latencies a quantity. An empty cell is not known.
    ///
    /// # Errors
    /// With the line and column that cannot be read.
    pub fn read_table(text: &str) -> Result<Vec<Self>, CrawlTableError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let (_, header) = lines.next().ok_or(CrawlTableError::Empty)?;
        let columns: Vec<String> = cells(header).into_iter().map(|name| name.to_lowercase()).collect();
        for name in &columns {
            if !KNOWN.contains(&name.as_str()) && !name.starts_with(FACT) {
                let near = KNOWN.into_iter().map(|known| (strsim::jaro_winkler(name, known), known));
                let nearest = near.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|best| best.0 > 0.7).map(|best| best.1);
                return Err(CrawlTableError::Column { name: name.clone(), nearest });
            }
        }
        if let Some(missing) = NEEDED.into_iter().find(|needed| !columns.iter().any(|column| column == needed)) {
            return Err(CrawlTableError::Missing(missing));
        }
        let mut crawls: Vec<Self> = Vec::new();
        for (number, line) in lines {
            let line_number = number + 1;
            let cells = cells(line);
            if cells.len() != columns.len() {
                let (cells, columns) = (cells.len(), columns.len());
                return Err(CrawlTableError::Cells { line: line_number, cells, columns });
            }
            read_line(&mut crawls, line_number, &columns, &cells)?;
        }
        Ok(crawls)
    }
}

fn read_line(
    crawls: &mut Vec<CrawlFigures>,
    line: usize,
    columns: &[String],
    cells: &[String],
) -> Result<(), CrawlTableError> {
    let cell = |name: &str| {
        let place = columns.iter().position(|column| column == name)?;
        Some(cells[place].as_str()).filter(|text| !text.is_empty())
    };
    let bad = |column: &str, text: &str, wanted| CrawlTableError::Value {
        line,
        column: column.to_owned(),
        text: text.to_owned(),
        wanted,
    };
    let needed = |name: &str| cell(name).ok_or_else(|| bad(name, "", "there, and it is needed"));
    let count = |name: &str| -> Result<Option<u64>, CrawlTableError> {
        let Some(text) = cell(name) else { return Ok(None) };
        let plain: String = text.chars().filter(|c| !matches!(c, ',' | '_' | ' ')).collect();
        plain.parse().map(Some).map_err(|_| bad(name, text, "a count such as 73769"))
    };
    let crawl = needed("crawl")?;
    let name = needed("source")?;
    let duration_text = needed("duration")?;
    let (duration_ns, precision_ns) =
        duration(duration_text).ok_or_else(|| bad("duration", duration_text, "a time such as 6:48:56 or \"90 s\""))?;
    let rate = cell("rate").map(|text| {
        let number =
            text.trim_end_matches("/s").trim().parse::<f64>().ok().filter(|rate| text.ends_with("/s") && *rate >= 0.0);
        number.ok_or_else(|| bad("rate", text, "a rate such as \"3.1 /s\""))
    });
    let latency = cell("latency").map(|text| {
        let latency: Result<Duration, _> = text.parse();
        latency.map(|latency| latency.as_ns() as f64).map_err(|_| bad("latency", text, "a time such as \"467 ms\""))
    });
    let slots = count("slots")?.map(|slots| u32::try_from(slots).unwrap_or(u32::MAX));
    let source = SourceFigures {
        name: name.to_owned(),
        items: count("items")?.ok_or_else(|| bad("items", "", "a count such as 73769"))?,
        failed: count("failed")?,
        duration_ns,
        stated_rate_per_s: rate.transpose()?,
        // A latency of nothing is none that was measured.
        repository_latency_ns: latency.transpose()?.filter(|ns| *ns > 0.0),
        slots,
        precision_ns,
    };
    let place = crawls.iter().position(|known| known.name == crawl).unwrap_or_else(|| {
        crawls.push(CrawlFigures { name: crawl.to_owned(), ..CrawlFigures::default() });
        crawls.len() - 1
    });
    if crawls[place].sources.iter().any(|known| known.name == source.name) {
        return Err(CrawlTableError::Twice { line, crawl: crawl.to_owned(), source_name: source.name });
    }
    for (column, cell) in columns.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
        if let Some(fact) = column.strip_prefix(FACT) {
            crawls[place].facts.insert(fact.to_owned(), cell.clone());
        }
    }
    crawls[place].sources.push(source);
    Ok(())
}

/// The cells of a line: separated by commas, in double quotes where they hold one.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.trim_end().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    cells.push(cell);
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

/// A span and the precision with which it was stated, ns.
fn duration(text: &str) -> Option<(u64, u64)> {
    if !text.contains(':') {
        let span: Duration = text.parse().ok()?;
        return Some((span.as_ns(), 1_000_000));
    }
    let parts: Vec<u64> = text.split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
    let seconds = match parts[..] {
        [hours, minutes, seconds] if minutes < 60 && seconds < 60 => {
            hours.checked_mul(3_600)?.checked_add(minutes * 60 + seconds)?
        }
        [minutes, seconds] if seconds < 60 => minutes.checked_mul(60)?.checked_add(seconds)?,
        _ => return None,
    };
    Some((seconds.checked_mul(NS_PER_S)?, NS_PER_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_reads_with_quotes_times_and_facts() {
        let text = "\u{feff}crawl,source,items,duration,rate,latency,slots,fact cpu\n\
                    Dev,\"a, b\",\"1,000\",1:02:03,3.1 /s,20 ms,8,old\n\nProd,\"a, b\",5,90 s,,,,new\n";
        let crawls = CrawlFigures::read_table(text).unwrap();
        assert_eq!(crawls.iter().map(|crawl| crawl.name.as_str()).collect::<Vec<_>>(), ["Dev", "Prod"]);
        let source = &crawls[0].sources[0];
        assert_eq!((source.name.as_str(), source.items, source.slots), ("a, b", 1_000, Some(8)));
        assert_eq!((source.duration_ns, source.precision_ns), (3_723 * NS_PER_S, NS_PER_S));
        assert_eq!((source.stated_rate_per_s, source.repository_latency_ns), (Some(3.1), Some(20e6)));
        assert_eq!(crawls[1].sources[0].repository_latency_ns, None);
        assert_eq!(crawls[1].facts["cpu"], "new");
    }

    #[test]
    fn what_cannot_be_read_is_named_at_its_place() {
        let error = |text: &str| CrawlFigures::read_table(text).expect_err(text).to_string();
        assert!(error("").contains("is empty"));
        assert_eq!(
            error("crawl,source,items,durations\n"),
            "column \"durations\" is not known: did you mean \"duration\"?"
        );
        assert!(error("crawl,source,items\n").contains("no column \"duration\""));
        let with = |cells: &str| error(&format!("crawl,source,items,duration,rate,latency\n{cells}\n"));
        assert_eq!(with("a,b,1"), "line 2 has 3 cells and the first line 6");
        assert!(with("a,b,many,1:00:00,,").contains("line 2, column items: \"many\" is not a count"));
        assert!(with("a,b,1,1:99:00,,").contains("column duration"));
        assert!(with("a,b,1,1:00:00,3,").contains("column rate"));
        assert!(with("a,b,1,1:00:00,3 /s,7").contains("column latency"));
        assert!(with(",b,1,1:00:00,,").contains("column crawl"));
        assert!(with("a,b,1,1:00:00,,\na,b,1,1:00:00,,").contains("has source \"b\" twice"));
    }
}
