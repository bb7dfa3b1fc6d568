//! Disks and virtual machines as sold, and environments made of them: catalog files and environment files, read into the
//! disk model's specs.
//!
//! Mechanisms are parameters here and code in `loadline-disk`; products are data in `catalog/`. No product is named in
//! this crate.

mod builtin;
mod catalog;
mod check;
mod describe;
mod deviation;
mod entry;
mod environment;
mod figure;
mod file;
mod limit_changes;
mod megabytes;
mod memory;
mod names;
mod near_name;
mod parts;
mod price;
mod resolve;
mod sold;
mod text_bounds;
mod texts;
mod unit_check;

pub use catalog::{Catalog, Filter, FilterUnknown, Kind, ListOrder, Listing};
pub use check::{CatalogProblem, ProblemKind};
pub use describe::Fact;
pub use deviation::Deviation;
pub use entry::{
    BurstRule, ByIops, CachedEstimate, Cap, Choice, Credits, Delivered, DeviceQueuesInterval, DiskEntry, DiskOption,
    EnforcementInterval, Family, Figure, HostCacheEntry, LatencyInterval, LatencyIntervals, Mechanism, Origin,
    PriceShares, Provision, Published, Rates, ReadsAndWrites, SizeRule, Sold, VmEntry, WholeSize,
};
pub use environment::{
    DISKS_MAX, ENVIRONMENT_SCHEMA, Environment, EnvironmentVolume, HostCacheFigures, environment_text, environments,
    nearest_environment,
};
pub use figure::{Factor, Formula, Interval, Proportion, Rule, Scalar};
pub use file::CATALOG_SCHEMA;
pub use limit_changes::{AnsweredRates, LimitChange, LimitChanges};
pub use loadline_units::words::rate_text;
pub use megabytes::{Megabyte, PublishedUnits};
pub use names::Architecture;
pub use price::{
    Backing, Basis, Charge, ChargeError, CommitmentTerm, Cost, CostError, Currency, Discount, DiscountError, Estimated,
    GuardRules, HOURS_PER_MONTH, Item, ItemCost, LeftOut, ListChanges, ListOrigin, ListRefusal, Money, PaidTerms,
    Price, PriceCause, PriceChange, PriceList, PriceProblem, Reduction, ReductionReason, Span, UsedList, charge,
};
pub use resolve::{DiskFigures, Draw, EntryError, EstimatedLimit, LimitFigures, Provisioned, PurchasePart, VmFigures};
pub use sold::SoldDisk;
pub use texts::{CatalogTexts, NamedText};

#[cfg(test)]
mod tests;
