//! What is really paid: list prices less what a commitment and discounts take off.

use super::{CommitmentShare, CommitmentTerm, Cost, Estimated, Money};
use crate::catalog::{Catalog, Kind};
use loadline_units::Ratio;

/// A part that is taken off list prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discount {
    /// Of this provider alone.
    provider: Option<String>,
    /// Of machines or of disks alone.
    kind: Option<Kind>,
    /// Of names that begin so alone.
    beginning: Option<String>,
    /// How much.
    share: Ratio,
}

/// Why a text is no discount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no discount: write 12%, aws=12%, aws/machines=12%, disks=5% or aws/machines/m5=12%; it is below 100 %"
)]
pub struct DiscountError(String);

impl std::str::FromStr for Discount {
    type Err = DiscountError;

    fn from_str(text: &str) -> Result<Self, DiscountError> {
        let wrong = || DiscountError(text.to_owned());
        let (of, share) = text.split_once('=').map_or(("", text), |(of, share)| (of, share));
        let share: Ratio = share.parse().map_err(|_| wrong())?;
        let mut found = Self { provider: None, kind: None, beginning: None, share };
        for part in of.split('/').filter(|part| !part.is_empty()) {
            match part {
                "machines" if found.kind.is_none() => found.kind = Some(Kind::Vm),
                "disks" if found.kind.is_none() => found.kind = Some(Kind::Disk),
                part if found.provider.is_none() && found.kind.is_none() => found.provider = Some(part.to_owned()),
                part if found.beginning.is_none() && found.kind.is_some() => found.beginning = Some(part.to_owned()),
                _ => return Err(wrong()),
            }
        }
        if share >= Ratio::ONE { Err(wrong()) } else { Ok(found) }
    }
}

impl Discount {
    /// How exact it is about a name; `None`: it is not of that.
    fn exactness(&self, provider: &str, name: &str, kind: Kind) -> Option<(usize, bool, bool)> {
        let is_of = self.provider.as_ref().is_none_or(|own| own == provider)
            && self.kind.is_none_or(|own| own == kind)
            && self.beginning.as_ref().is_none_or(|own| name.starts_with(own.as_str()));
        let length = self.beginning.as_ref().map_or(0, String::len);
        is_of.then_some((length, self.kind.is_some(), self.provider.is_some()))
    }

    /// The provider that it is of, if it is of one alone.
    #[must_use]
    pub fn provider(&self) -> Option<&str> {
        self.provider.as_deref()
    }
}

/// What is paid in place of list prices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaidTerms {
    /// To pay for machines for so long.
    pub commitment: Option<CommitmentTerm>,
    /// Of several for one name the most exact counts.
    pub discounts: Vec<Discount>,
}

/// Something that is taken off a list price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reduction {
    /// Why.
    pub why: ReductionReason,
    /// A month of it.
    pub amount: Money,
}

/// Why something is taken off a list price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReductionReason {
    /// A commitment, as it is for machines of this kind.
    Commitment {
        /// For how long.
        term: CommitmentTerm,
        /// What is paid, of the list price.
        share: Ratio,
        /// Where that is from.
        source: String,
        /// The date of that.
        date: Option<String>,
        /// Under which conditions.
        terms: Option<String>,
    },
    /// A discount that was named.
    Discount {
        /// How much.
        share: Ratio,
    },
}

impl Catalog {
    /// This catalog with what is paid in place of list prices.
    #[must_use]
    pub fn with_terms(mut self, terms: PaidTerms) -> Self {
        self.paid = terms;
        self
    }

    /// The providers of whose machines the catalog knows what a commitment costs.
    #[must_use]
    pub fn committed_providers(&self) -> Vec<String> {
        let mut found: Vec<String> = self.commitments.iter().map(|share| share.provider.clone()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether a commitment was asked for, and what it costs for this machine is not known.
    #[must_use]
    pub fn lacks_commitment(&self, machine: &str) -> bool {
        self.paid.commitment.is_some() && self.commitment(machine).is_none()
    }

    fn commitment(&self, machine: &str) -> Option<&CommitmentShare> {
        let (provider, name) = machine.split_once('/')?;
        let kind = name.split('.').next().unwrap_or(name);
        let term = self.paid.commitment?;
        let is_it =
            |share: &&CommitmentShare| share.provider == provider && share.machines == kind && share.term == term;
        self.commitments.iter().rev().find(is_it)
    }

    /// A cost at list prices, less what is taken off: first by the commitment, and of the rest by the discount.
    pub(super) fn paid(&self, name: &str, kind: Kind, mut cost: Cost) -> Cost {
        if kind == Kind::Vm
            && let Some(found) = self.commitment(name)
        {
            let of = &self.families[found.family];
            let why = ReductionReason::Commitment {
                term: found.term,
                share: found.share,
                source: of.source.clone(),
                date: of.date.clone(),
                terms: found.terms.clone(),
            };
            cost.take_off(why, found.share.complement());
            // One share stands for all machines of a kind in all regions.
            cost.estimated.push(Estimated::Commitment);
        }
        let (provider, plain) = name.split_once('/').unwrap_or(("", name));
        let of = |discount: &Discount| Some((discount.exactness(provider, plain, kind)?, discount.share));
        let most_exact = self.paid.discounts.iter().filter_map(of).max_by_key(|(exactness, _)| *exactness);
        if let Some((_, share)) = most_exact {
            cost.take_off(ReductionReason::Discount { share }, share);
        }
        cost
    }
}

impl Cost {
    fn take_off(&mut self, why: ReductionReason, share: Ratio) {
        let amount = self.month.share(share);
        self.month = self.month.less(amount);
        self.reductions.push(Reduction { why, amount });
    }
}
