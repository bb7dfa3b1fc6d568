//! A page's session: the catalog, and what was simulated of the question that was asked last.

use crate::buy::{self, Paid, sides};
use crate::storage::{Posed, STORAGE};
use crate::text::{PageAnswer, Problem, Question, StorageQuestion, Word};
use loadline_catalog::{Catalog, CatalogTexts, NamedText};
use loadline_document::DocumentError;
use loadline_prediction::PredictionRow;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The need that a page opens with.
const FIRST: [(&str, &str); 4] = [("iops", "9000"), ("reads", "70%"), ("block", "8KiB"), ("size", "500GiB")];

/// The catalog as texts: what comes along, and what lies over it.
#[derive(Debug, Serialize, Deserialize)]
pub struct CatalogBundle {
    /// The files that come along.
    pub shipped: Vec<NamedText>,
    /// What counts before them.
    pub over: CatalogTexts,
}

impl CatalogBundle {
    /// What comes along here, and these texts over it.
    #[must_use]
    pub fn of(over: CatalogTexts) -> Self {
        let named = |name: &str| Some((name.to_owned(), Catalog::builtin_text(name)?.to_owned()));
        Self { shipped: Catalog::builtin_files().filter_map(named).collect(), over }
    }
}

/// Answers a page's questions.
#[derive(Debug)]
pub struct Session {
    catalog: Catalog,
    /// The catalog as it was paid for last.
    paid: Paid,
    /// The question about storage that was asked last, and its rows.
    last: Option<Simulated>,
}

#[derive(Debug)]
struct Simulated {
    key: String,
    posed: Posed,
    rows: Vec<PredictionRow>,
}

impl Session {
    /// With the catalog of these texts.
    ///
    /// # Errors
    /// The problems of the first file that has any.
    pub fn open(bundle: &CatalogBundle) -> Result<Self, DocumentError> {
        let files: Vec<(&str, &str)> =
            bundle.shipped.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let catalog = bundle.over.over(Catalog::shipped(&files)?)?;
        Ok(Self { paid: Paid::listed(&catalog), catalog, last: None })
    }

    /// The answer to a question, both as JSON.
    #[must_use]
    pub fn answer(&mut self, question: &str) -> String {
        let answer = match serde_json::from_str::<Question>(question) {
            Ok(Question::Choices) => self.choices(),
            Ok(Question::Buy(question)) => json(&buy::answer(&question, &self.catalog, &mut self.paid)),
            Ok(Question::Storage(question)) => json(&self.storage(&question)),
            Err(error) => json(&PageAnswer::refused("", vec![Problem::of("", error.to_string())])),
        };
        answer.to_string()
    }

    fn choices(&self) -> Json {
        let catalog = &self.catalog;
        let providers = catalog.providers();
        let currencies: Vec<String> = catalog.currencies().iter().map(ToString::to_string).collect();
        let machines: Vec<String> = providers.iter().flat_map(|provider| catalog.machines_sold(provider)).collect();
        let disks: Vec<&str> = providers
            .iter()
            .flat_map(|provider| catalog.network_disks_sold(provider))
            .map(|disk| disk.name.as_str())
            .collect();
        let of = |provider: &String| json!({ "name": provider, "regions": catalog.price_regions(provider) });
        let priced: Vec<Json> =
            providers.iter().filter(|provider| !catalog.price_regions(provider).is_empty()).map(of).collect();
        let first: Vec<Word> = FIRST.map(|(field, typed)| (field.to_owned(), typed.to_owned())).to_vec();
        json!({
            "ask": "choices",
            "providers": priced,
            "currencies": currencies,
            "machines": machines,
            "disks": disks,
            "sides": sides(&first, catalog),
        })
    }

    fn storage(&mut self, question: &StorageQuestion) -> PageAnswer {
        let key = format!("{:?} {:?}", question.words, question.sides);
        let known = self.last.take().filter(|last| last.key == key);
        let mut last = match known {
            Some(last) => last,
            None => match Posed::of(question, &self.catalog) {
                Ok(posed) => Simulated { key, rows: posed.by_limits(), posed },
                Err(problems) => return PageAnswer::refused(STORAGE, problems),
            },
        };
        if let Some(row) = question.simulate.filter(|row| *row < last.posed.count()) {
            let made = last.posed.simulated(row);
            let place = last.rows.iter().position(|known| is_same(known, &made));
            match place {
                Some(place) => last.rows[place] = made,
                None => last.rows.push(made),
            }
        }
        let answer = last.posed.answer(&last.rows, question.simulate, question.values);
        self.last = Some(last);
        answer
    }
}

fn is_same(one: &PredictionRow, other: &PredictionRow) -> bool {
    (&one.environment, &one.volume, one.cell) == (&other.environment, &other.volume, other.cell)
}

fn json(answer: &PageAnswer) -> Json {
    serde_json::to_value(answer).unwrap_or(Json::Null)
}
