//! What to buy: the words of a need, advised on.

use crate::command::options;
use crate::text::{BuyQuestion, PageAnswer, Problem, Word};
use loadline_advise::{
    Advice, AdviceOptions, AdviseError, Candidate, Need, NeedFilter, NeedWords, Stock, advise, advise_from,
    unmatched_filter,
};
use loadline_catalog::{Catalog, CommitmentTerm, Currency, Discount, PaidTerms};
use loadline_report::{PageWishes, advice_body, advice_document};
use loadline_units::Bytes;
use serde_json::Value as Json;

/// The question's name.
pub(crate) const BUY: &str = "buy";
/// The field that is no option of the command: it is read off the rows.
const BUDGET: &str = "budget";
/// More than this no volume on sale holds, however many its disks are.
const SIZE_MAX: Bytes = Bytes::gib(4 << 20);
/// And more requests per second than this none carries.
const IOPS_MAX: f64 = 100e6;
/// Storages that the other question takes from an answer.
const SIDES_MAX: usize = 2;

/// The words of a question, read.
#[derive(Debug, Default)]
struct Said {
    need: NeedWords,
    paying: Paying,
    budget: Option<f64>,
}

/// How things are paid.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Paying {
    currency: Option<Currency>,
    terms: PaidTerms,
}

impl Paying {
    /// "by the hour, without a commitment".
    fn words(&self) -> String {
        let terms = match self.terms.commitment {
            None => "by the hour, without a commitment",
            Some(CommitmentTerm::OneYear) => "with a commitment of one year for the machine, paid monthly",
            Some(CommitmentTerm::ThreeYears) => "with a commitment of three years for the machine, paid monthly",
        };
        let discounts = if self.terms.discounts.is_empty() { "" } else { ", less your discounts" };
        format!("{terms}{discounts}")
    }

    /// The catalog with these terms.
    fn over(&self, catalog: &Catalog) -> Catalog {
        let mut catalog = catalog.clone();
        if let Some(currency) = self.currency {
            catalog = catalog.in_currency(currency);
        }
        catalog.with_terms(self.terms.clone())
    }
}

fn said(words: &[Word]) -> Result<Said, Vec<Problem>> {
    let mut said = Said::default();
    let mut problems = Vec::new();
    for (field, typed) in words {
        let taken = match field.as_str() {
            // Of boxes none is ticked.
            "provider" if typed.is_empty() => Err("tick one provider at least".to_owned()),
            BUDGET => amount(typed).map(|amount| said.budget = Some(amount)),
            "currency" => currency(typed).map(|currency| said.paying.currency = Some(currency)),
            "commit" => commitment(typed).map(|term| said.paying.terms.commitment = Some(term)),
            "discount" => discount(typed).map(|discount| said.paying.terms.discounts.push(discount)),
            _ => said.need.say(field, typed),
        };
        problems.extend(taken.err().map(|text| Problem::of(field, text)));
    }
    if problems.is_empty() { Ok(said) } else { Err(problems) }
}

fn amount(typed: &str) -> Result<f64, String> {
    let amount = typed.trim().parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount > 0.0);
    amount.ok_or_else(|| "write an amount of money a month, as in 300".to_owned())
}

fn currency(typed: &str) -> Result<Currency, String> {
    Currency::parse(&typed.to_uppercase()).ok_or_else(|| "write its three letters, as in EUR".to_owned())
}

fn commitment(typed: &str) -> Result<CommitmentTerm, String> {
    let found = CommitmentTerm::ALL.into_iter().find(|term| term.name() == typed);
    found.ok_or_else(|| "write 1y or 3y".to_owned())
}

fn discount(typed: &str) -> Result<Discount, String> {
    typed.parse::<Discount>().map_err(|error| error.to_string())
}

/// What the words need, and how it is paid; or what is wrong with them.
fn posed(words: &[Word]) -> Result<(Said, Need), Vec<Problem>> {
    let said = said(words)?;
    let Some(need) = said.need.need() else {
        return Err(vec![Problem::of("iops", "write how many requests a second")]);
    };
    if need.size == Bytes::ZERO {
        return Err(vec![Problem::of("size", "write how much it must hold")]);
    }
    if need.size_in_the_end() > SIZE_MAX {
        return Err(vec![Problem::of(
            "size",
            "no volume on sale holds so much: write 4,096 TiB at most, growth included",
        )]);
    }
    if said.need.numbers.iops.is_some_and(|iops| iops.get() as f64 > IOPS_MAX) {
        return Err(vec![Problem::of("iops", "no storage on sale does so many: write 100,000,000 at most")]);
    }
    Ok((said, need))
}

/// A catalog under terms of payment, with what was found out of it.
#[derive(Debug)]
pub(crate) struct Paid {
    paying: Paying,
    catalog: Catalog,
    stock: Stock,
}

impl Paid {
    /// As listed.
    pub(crate) fn listed(catalog: &Catalog) -> Self {
        Self { paying: Paying::default(), catalog: catalog.clone(), stock: Stock::default() }
    }
}

/// Advises. `paid` keeps the catalog with the terms of payment, which is dear to make, for the next question.
pub(crate) fn answer(question: &BuyQuestion, listed: &Catalog, paid: &mut Paid) -> PageAnswer {
    let simulate = question.simulate.is_some();
    let (said, mut need) = match posed(&question.words) {
        Ok(posed) => posed,
        Err(problems) => return PageAnswer::refused(BUY, problems),
    };
    let objective = need.objective;
    if !simulate {
        need.objective = None;
    }
    let options_of_advice = AdviceOptions { simulate, today: question.today.clone(), ..AdviceOptions::default() };
    if said.paying != paid.paying {
        *paid = Paid { catalog: said.paying.over(listed), paying: said.paying, stock: Stock::default() };
    }
    let mut advice = match advise_from(&paid.stock, &need, &paid.catalog, &options_of_advice) {
        Ok(advice) => advice,
        Err(error) => return PageAnswer::refused(BUY, vec![refused(&error)]),
    };
    if advice.candidates.is_empty()
        && let Some(filter) = unmatched_filter(&need.wanted, &paid.catalog)
    {
        return PageAnswer::refused(BUY, vec![unmatched(filter)]);
    }
    let of_command: Vec<Word> = question.words.iter().filter(|(field, _)| field != BUDGET).cloned().collect();
    let values = question.values.then(|| values(&advice));
    // By limits alone the page says that the latency is still open.
    advice.judged_by.pending = objective.filter(|_| !simulate);
    let paid_words = paid.paying.words();
    let wishes = PageWishes { budget: said.budget, paid: Some(&paid_words), next: true };
    PageAnswer {
        ask: BUY,
        html: Some(advice_body(&advice, &wishes)),
        command: Some(format!("loadline advise{}", options(&of_command))),
        note: said.budget.map(|_| "The budget is of this page alone: the command has no option for it.".to_owned()),
        simulates: !simulate,
        sides: advice.candidates.iter().filter_map(side).take(SIDES_MAX).collect(),
        values,
        ..PageAnswer::default()
    }
}

/// What is said of a filter that leaves nothing.
fn unmatched(filter: NeedFilter) -> Problem {
    let (field, text) = match filter {
        NeedFilter::Machine => ("machine", "no machine of these providers has this in its name"),
        NeedFilter::Disk => ("disk", "no disk of these providers has this in its name"),
        NeedFilter::Architecture => ("arch", "no machine that the other filters leave has this architecture"),
        NeedFilter::Vcpus => ("vcpus", "no machine that the other filters leave has so many processors"),
        NeedFilter::Memory => ("memory", "no machine that the other filters leave is known to have so much memory"),
    };
    Problem::of(field, text)
}

fn values(advice: &Advice) -> Json {
    serde_json::to_value(advice_document(advice)).unwrap_or(Json::Null)
}

fn refused(error: &AdviseError) -> Problem {
    let field = match error {
        AdviseError::NoRegion { .. } => "region",
        AdviseError::TwoCurrencies { .. } => "currency",
        AdviseError::NothingAsked => "iops",
        AdviseError::NoPrices { .. } => "",
    };
    Problem::of(field, error.to_string())
}

/// The first choices for these words by limits, each as the words of a storage: what a page opens with.
pub(crate) fn sides(words: &[Word], catalog: &Catalog) -> Vec<Vec<Word>> {
    let Ok((_, mut need)) = posed(words) else { return Vec::new() };
    need.objective = None;
    let options = AdviceOptions { simulate: false, ..AdviceOptions::default() };
    let Ok(advice) = advise(&need, catalog, &options) else { return Vec::new() };
    advice.candidates.iter().filter_map(side).collect()
}

/// A row as the words of a storage.
fn side(row: &Candidate) -> Option<Vec<Word>> {
    let volume = row.volumes.first()?;
    let disk = volume.disks.first()?;
    let word = |field: &str, typed: String| (field.to_owned(), typed);
    let mut words = vec![word("vm", row.machine.clone()), word("sku", disk.sku.clone())];
    words.push(word("count", disk.count.to_string()));
    let number = |field: &str, value: Option<u64>, unit: u64| Some(word(field, (value? / unit).to_string()));
    words.extend(number("size", disk.size_bytes, 1 << 30));
    words.extend(number("iops", disk.iops, 1));
    words.extend(number("throughput", disk.throughput_bytes_per_s, 1_000_000));
    words.push(word("host-cache", volume.host_cache.clone()));
    Some(words)
}
