//! The documents that `--format json` prints: each says in its key `schema` what it is.

use crate::output;
use serde::Serialize;

/// What a document is. Each has a schema in `docs/formats`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Schema {
    AdviceRows,
    Catalog,
    CatalogCheck,
    CatalogEntry,
    CatalogUpdate,
    Clocks,
    Doctor,
    DryRun,
    Emulation,
    EmulationStatus,
    EnvironmentCosts,
    Environments,
    FaultChange,
    Faults,
    HuntPlan,
    Import,
    Incidents,
    Limits,
    List,
    Plans,
    PredictionRows,
    Recording,
    Seconds,
    Verification,
}

impl Schema {
    /// Its name and version.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::AdviceRows => "loadline.advice-rows/1",
            Self::Catalog => "loadline.catalog/1",
            Self::CatalogCheck => "loadline.catalog-check/1",
            Self::CatalogEntry => "loadline.catalog-entry/1",
            Self::CatalogUpdate => "loadline.catalog-update/1",
            Self::Clocks => "loadline.clocks/1",
            Self::Doctor => "loadline.doctor/1",
            Self::DryRun => "loadline.dry-run/1",
            Self::Emulation => "loadline.emulation/1",
            Self::EmulationStatus => "loadline.emulation-status/1",
            Self::EnvironmentCosts => "loadline.environment-costs/1",
            Self::Environments => "loadline.environments/1",
            Self::FaultChange => "loadline.fault-change/1",
            Self::Faults => "loadline.faults/1",
            Self::HuntPlan => "loadline.hunt-plan/1",
            Self::Import => "loadline.import/1",
            Self::Incidents => "loadline.incidents/1",
            Self::Limits => "loadline.limits/1",
            Self::List => "loadline.list/1",
            Self::Plans => "loadline.plans/1",
            Self::PredictionRows => "loadline.prediction-rows/1",
            Self::Recording => "loadline.recording/1",
            Self::Seconds => "loadline.seconds/1",
            Self::Verification => "loadline.verification/1",
        }
    }

    /// A document with these fields.
    pub(crate) fn document<T: Serialize>(self, fields: T) -> String {
        document(self.name(), fields)
    }

    /// A document of rows.
    pub(crate) fn rows<T: Serialize>(self, rows: T) -> String {
        self.document(Rows { rows })
    }
}

/// A document of this name, with these fields.
pub(crate) fn document<T: Serialize>(schema: &'static str, fields: T) -> String {
    output::pretty(&Document { schema, fields })
}

#[derive(Serialize)]
struct Document<T> {
    schema: &'static str,
    #[serde(flatten)]
    fields: T,
}

#[derive(Serialize)]
struct Rows<T> {
    rows: T,
}
