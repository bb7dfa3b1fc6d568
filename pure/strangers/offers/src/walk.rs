//! The walk over an address' pages: which comes next, when that is enough, and how often one that failed is asked for again.
//!
//! Pages that are linked come in no stable order, and a walk over them may lose rows. So the walk is repeated, until two in a row add none.

use crate::addresses::{Pages, PriceAddress};
use crate::answer::{PriceAnswer, Provider, Quote};
use loadline_units::{Date, Duration, Timestamp};
use std::collections::BTreeSet;

/// Walks in a row without a new row, after which no more are made.
const IDLE_WALKS: u32 = 2;
/// Bytes of an address at most.
const LINK_MAX: usize = 8 << 10;
/// The first pause after an error, and after a server that is overloaded and names no time. Each further one is twice as long.
const PAUSE: Duration = Duration::from_s(1);
const PAUSE_OVERLOADED: Duration = Duration::from_s(15);

/// What a fetch may take at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchBounds {
    /// Bytes of a page, as it came and unpacked.
    pub bytes: u64,
    /// Pages of an address.
    pub pages: u32,
    /// Walks over an address.
    pub walks: u32,
    /// Requests for a page.
    pub tries: u32,
    /// What a server may ask to wait.
    pub wait: Duration,
    /// Everything.
    pub time: Duration,
}

impl Default for FetchBounds {
    fn default() -> Self {
        Self {
            bytes: 1 << 30,
            pages: 2_000,
            walks: 8,
            tries: 5,
            wait: Duration::from_s(300),
            time: Duration::from_s(3_600),
        }
    }
}

/// Why a walk ends before its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// A link leads away.
    #[error("its next page is at {link:?}: a link is followed to {host} by HTTPS alone")]
    OtherHost {
        /// The link, as far as it is shown.
        link: String,
        /// The host of the address.
        host: String,
    },
    /// A link leads back.
    #[error("its page {page} leads back to an earlier one")]
    Back {
        /// From 1.
        page: u32,
    },
    /// There is no end.
    #[error("it has more than {0} pages")]
    Endless(u32),
    /// The answer is of another provider.
    #[error("the answer is of another provider: {0}")]
    OtherForm(&'static str),
}

/// A page of a walk, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagePlace {
    /// The walk.
    pub walk: u32,
    /// The page.
    pub page: u32,
}

/// What a page ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walked {
    /// Nothing: another follows.
    Page,
    /// A walk.
    Walk {
        /// It has rows that no walk before had, or is the first.
        is_new: bool,
    },
}

/// See the head of this file.
#[derive(Debug)]
pub struct PageWalk {
    provider: Provider,
    address: PriceAddress,
    bounds: FetchBounds,
    next: Option<String>,
    place: PagePlace,
    pages: u32,
    /// Addresses of this walk.
    seen: BTreeSet<String>,
    rows: BTreeSet<Quote>,
    /// Rows as this walk began.
    rows_before: usize,
    idle: u32,
}

impl PageWalk {
    /// At the first page.
    #[must_use]
    pub fn new(provider: Provider, address: PriceAddress, bounds: FetchBounds) -> Self {
        let first = address.url.clone();
        Self {
            provider,
            address,
            bounds,
            next: Some(first.clone()),
            place: PagePlace { walk: 1, page: 1 },
            pages: 0,
            seen: BTreeSet::from([first]),
            rows: BTreeSet::new(),
            rows_before: 0,
            idle: 0,
        }
    }

    /// The page that comes next, and its address; `None`: enough is here.
    #[must_use]
    pub fn next_page(&self) -> Option<(PagePlace, &str)> {
        self.next.as_deref().map(|next| (self.place, next))
    }

    /// Takes the page that came next; `None` of one without prices.
    ///
    /// # Errors
    /// [`WalkError`]. The walk stays where it is.
    pub fn take(&mut self, answer: Option<&PriceAnswer>) -> Result<Walked, WalkError> {
        if let Some(answer) = answer.filter(|answer| answer.form.provider() != self.provider) {
            return Err(WalkError::OtherForm(answer.form.words()));
        }
        let next = match answer.and_then(|answer| answer.next.as_deref()) {
            Some(next) => self.following(next)?,
            None => None,
        };
        if next.as_ref().is_some_and(|next| self.seen.contains(next)) {
            return Err(WalkError::Back { page: self.place.page });
        }
        if next.is_some() && self.pages + 1 >= self.bounds.pages {
            return Err(WalkError::Endless(self.bounds.pages));
        }
        self.pages += 1;
        self.rows.extend(answer.iter().flat_map(|answer| answer.quotes.iter().cloned()));
        let Some(next) = next else { return Ok(self.end_walk()) };
        self.seen.insert(next.clone());
        self.next = Some(next);
        self.place.page += 1;
        Ok(Walked::Page)
    }

    fn end_walk(&mut self) -> Walked {
        let is_new = self.place.walk == 1 || self.rows.len() > self.rows_before;
        self.idle = if is_new { 0 } else { self.idle + 1 };
        self.rows_before = self.rows.len();
        let is_enough = self.address.pages != Pages::Links
            || self.idle >= IDLE_WALKS
            || self.place.walk >= self.bounds.walks
            || self.pages >= self.bounds.pages;
        self.place = PagePlace { walk: self.place.walk + 1, page: 1 };
        self.seen = BTreeSet::from([self.address.url.clone()]);
        self.next = (!is_enough).then(|| self.address.url.clone());
        Walked::Walk { is_new }
    }

    /// The address of the page to which a page leads.
    fn following(&self, next: &str) -> Result<Option<String>, WalkError> {
        match self.address.pages {
            Pages::One => Ok(None),
            Pages::Tokens => Ok(Some(format!("{}&pageToken={}", self.address.url, escaped(next)))),
            Pages::Links => {
                let host = host_of(&self.address.url).unwrap_or_default();
                if next.len() <= LINK_MAX && host_of(next) == Some(host) {
                    return Ok(Some(next.to_owned()));
                }
                let link = next.chars().filter(|c| !c.is_control()).take(80).collect();
                Err(WalkError::OtherHost { link, host: host.to_owned() })
            }
        }
    }
}

/// The host of an address by HTTPS and its usual port; `None` of any other address.
#[must_use]
pub fn host_of(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://")?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.strip_suffix(":443").unwrap_or(host);
    host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte)).then_some(host)
}

/// As it may stand in a query.
fn escaped(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Why a page did not come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageFailure {
    /// The server answered with another status than that of a page.
    Status {
        /// The status.
        status: u16,
        /// When to ask again, as the server wrote it.
        retry_after: Option<String>,
    },
    /// The connection broke, before or within the page.
    Broken,
}

/// Why a page is not asked for again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GaveUp {
    /// The server sends us elsewhere.
    #[error("the server leads to another address (HTTP {0}), and redirects are not followed")]
    Redirect(u16),
    /// The server refuses.
    #[error("the server answers HTTP {0}")]
    Status(u16),
    /// The server wants to be left alone for too long.
    #[error("the server answers HTTP {status} and asks to wait {}; {} are waited at most", asked.clock(), most.clock())]
    Wait {
        /// The status.
        status: u16,
        /// What it asks for.
        asked: Duration,
        /// What is waited at most.
        most: Duration,
    },
    /// It failed too often.
    #[error("it was asked for {0} times")]
    Tries(u32),
}

/// The requests for one page.
#[derive(Debug)]
pub struct PageTries {
    bounds: FetchBounds,
    failed: u32,
}

impl PageTries {
    /// Before the first.
    #[must_use]
    pub const fn new(bounds: FetchBounds) -> Self {
        Self { bounds, failed: 0 }
    }

    /// How long to wait after one that failed.
    ///
    /// # Errors
    /// [`GaveUp`].
    pub fn wait(&mut self, failure: &PageFailure, now: Timestamp) -> Result<Duration, GaveUp> {
        self.failed += 1;
        let (asked, least) = match failure {
            PageFailure::Broken | PageFailure::Status { status: 408 | 500 | 502 | 504, .. } => (None, PAUSE),
            PageFailure::Status { status: status @ (429 | 503), retry_after } => {
                let asked = retry_after.as_deref().and_then(|text| asked_wait(text, now));
                if let Some(asked) = asked.filter(|asked| *asked > self.bounds.wait) {
                    return Err(GaveUp::Wait { status: *status, asked, most: self.bounds.wait });
                }
                (asked, PAUSE_OVERLOADED)
            }
            PageFailure::Status { status: status @ 300..400, .. } => return Err(GaveUp::Redirect(*status)),
            PageFailure::Status { status, .. } => return Err(GaveUp::Status(*status)),
        };
        if self.failed >= self.bounds.tries {
            return Err(GaveUp::Tries(self.failed));
        }
        let growing = least * (1 << (self.failed - 1).min(20));
        Ok(asked.unwrap_or(growing.min(self.bounds.wait)))
    }
}

/// What `Retry-After` asks for: seconds, or a date of HTTP. `None`: it is neither.
fn asked_wait(text: &str, now: Timestamp) -> Option<Duration> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = text.trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        // More seconds than a number has are too many in any case.
        return Some(Duration::from_s(text.parse::<u32>().unwrap_or(u32::MAX).into()));
    }
    let [_, day, month, year, time, "GMT"] = text.split(' ').collect::<Vec<_>>()[..] else { return None };
    let (month, _) = (1..).zip(MONTHS).find(|(_, name)| *name == month)?;
    let [hour, minute, second] = time.split(':').collect::<Vec<_>>()[..] else { return None };
    let date = Date::new(year.parse().ok()?, month, day.parse().ok()?)?;
    let at = date.unix_s(hour.parse().ok()?, minute.parse().ok()?, second.parse().ok()?)?;
    let wait = now.nanoseconds_until(Timestamp::new(at, 0));
    Some(Duration::from_ns(u64::try_from(wait).unwrap_or(u64::MAX)))
}
