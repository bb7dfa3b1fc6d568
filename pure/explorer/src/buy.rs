//! What to buy: the words of a need, advised on.

use crate::command::options;
use crate::text::{BuyQuestion, PageAnswer, Problem, Word};
use loadline_advise::{Advice, AdviceOptions, AdviseError, Need, NeedWords, Stock, advise, advise_from};
use loadline_catalog::{Catalog, CommitmentTerm, Currency, Discount, PaidTerms};
use loadline_report::{advice_body, advice_document};
use loadline_units::Bytes;
use serde_json::Value as Json;

/// The question's name.
pub(crate) const BUY: &str = "buy";
/// The field that is no option of the command: it is read off the rows.
const BUDGET: &str = "budget";

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
    let has_objective = need.objective.is_some();
    if !simulate {
        need.objective = None;
    }
    let options_of_advice = AdviceOptions { simulate, today: question.today.clone(), ..AdviceOptions::default() };
    if said.paying != paid.paying {
        *paid = Paid { catalog: said.paying.over(listed), paying: said.paying, stock: Stock::default() };
    }
    let advice = match advise_from(&paid.stock, &need, &paid.catalog, &options_of_advice) {
        Ok(advice) => advice,
        Err(error) => return PageAnswer::refused(BUY, vec![refused(&error)]),
    };
    let of_command: Vec<Word> = question
        .words
        .iter()
        .filter(|(field, _)| field != BUDGET && (simulate || has_objective || field != "p99"))
        .cloned()
        .collect();
    PageAnswer {
        ask: BUY,
        html: Some(advice_body(&advice, said.budget)),
        command: Some(format!("loadline advise{}", options(&of_command))),
        simulates: !simulate,
        values: question.values.then(|| values(&advice)),
        ..PageAnswer::default()
    }
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
    let side = |row: &loadline_advise::Candidate| {
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
    };
    advice.candidates.iter().filter_map(side).collect()
}
