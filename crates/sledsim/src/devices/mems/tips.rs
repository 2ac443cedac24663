//! Failed tips: spares, erasure codes over the tips of a block, and lost blocks (Schlosser et al. 2000, sections 2.3 and 2.4).
//!
//! A block is under `data` tips and, with an erasure code, under `check` more at the same position of their regions. A spare tip replaces
//! a failed one, at the same position of its region and without a change in access time. If there is no spare, a block is computed from as
//! many of its other tips as it has data tips; a block with fewer tips left is lost.

use std::collections::{BTreeMap, BTreeSet};

use crate::convert::to_u32;
use crate::devices::mems::geometry::Geometry;
use crate::devices::mems::parameters::{FailedTips, MemsParameters, Transfer};
use crate::devices::Condition;
use crate::engine::details::Count;
use crate::engine::random::Stream;
use crate::fault::Fault;

/// Maximum probability that a repeated pass does not read a block.
const MOST_REPEATED_ERRORS: f64 = 0.5;

/// Failures of the tips of a sled.
#[derive(Clone, Debug)]
pub(super) struct Tips {
    /// Number of check tips of a block.
    pub(super) check: u32,
    /// Number of failed tips without a spare in each tip group ([`Geometry::group`]); empty if there are none.
    failed: Vec<u32>,
    blocks_per_row: u32,
    /// Number of failed tips.
    failures: u64,
    /// Number of failed tips replaced by a spare.
    remapped: u64,
    errors: Option<Errors>,
}

/// Random read errors of tip sectors.
#[derive(Clone, Debug)]
struct Errors {
    stream: Stream,
    /// Probability that a block is not read by its data tips in the first pass.
    first: f64,
    /// Probability that it is not read by all its tips in another pass.
    again: f64,
}

/// Numbers of blocks of a sled that failed tips affect.
#[derive(Clone, Copy, Debug)]
pub(super) struct DamagedBlocks {
    pub lost: u64,
    pub degraded: u64,
}

impl Tips {
    /// Returns the failures of the sled of index `sled`.
    ///
    /// # Errors
    /// A failed tip does not exist, or keys contradict each other.
    pub(super) fn new(parameters: &MemsParameters, geometry: &Geometry, sled: u32) -> Result<Self, Fault> {
        let p = parameters;
        check_transfer(p)?;
        let failed = failed_tips(p, sled)?;
        let (data, check) = (p.block_bytes / p.tip_sector_bytes, p.parity_tips);
        let failed_set: BTreeSet<u32> = failed.iter().copied().collect();
        let mut spares = (p.tips - p.spare_tips..p.tips).filter(|spare| !failed_set.contains(spare));
        let mut tips = Self {
            check,
            failed: Vec::new(),
            blocks_per_row: geometry.blocks_per_row,
            failures: failed.len() as u64,
            remapped: 0,
            errors: None,
        };
        for &tip in &failed {
            let (track, slot) = (tip / p.active_tips, tip % p.active_tips / (data + check));
            if track >= geometry.tracks || slot >= geometry.blocks_per_row || tip >= p.tips - p.spare_tips {
                // No block is under it.
                continue;
            }
            if spares.next().is_some() {
                tips.remapped += 1;
                continue;
            }
            tips.failed.resize((geometry.tracks * geometry.blocks_per_row) as usize, 0);
            tips.failed[(track * geometry.blocks_per_row + slot) as usize] += 1;
        }
        if p.read_error_rate > 0.0 {
            tips.errors = Some(Errors::new(p, data, tips.fewest_checks(), sled)?);
        }
        Ok(tips)
    }

    /// Returns the smallest number of working check tips of a block that is not lost.
    fn fewest_checks(&self) -> u32 {
        self.failed
            .iter()
            .filter(|&&failed| failed <= self.check)
            .map(|failed| self.check - failed)
            .min()
            .unwrap_or(self.check)
    }

    /// Returns true if passes may have to be repeated.
    #[inline]
    pub(super) fn has_read_errors(&self) -> bool {
        self.errors.is_some()
    }

    /// Returns the number of active tips in a pass over whole blocks under `tips` tips, `reads` of which are read without their check tips.
    #[inline]
    pub(super) fn active(&self, tips: u32, reads: u32) -> u32 {
        tips - reads * self.check
    }

    /// Returns the worst condition of `blocks` blocks of a row, the first of which is under the tips of `group`.
    fn row_condition(&self, group: u32, blocks: u32) -> Condition {
        let failed = &self.failed[group as usize..(group + blocks) as usize];
        match failed.iter().max() {
            Some(&most) if most > self.check => Condition::Lost,
            Some(&most) if most > 0 => Condition::Degraded,
            _ => Condition::Whole,
        }
    }

    /// Returns the worst condition of `blocks` blocks from `lbn` on.
    pub(super) fn condition(&self, geometry: &Geometry, lbn: u64, blocks: u32) -> Condition {
        let mut worst = Condition::Whole;
        if self.failed.is_empty() {
            return worst;
        }
        let (mut place, mut left) = (geometry.place(lbn), blocks);
        while left > 0 && worst < Condition::Lost {
            let here = left.min(self.blocks_per_row - place.slot);
            worst = worst.max(self.row_condition(geometry.group(&place), here));
            left -= here;
            if left > 0 {
                place = geometry.next_row(&place);
            }
        }
        worst
    }

    /// Returns the numbers of blocks of the sled that are lost or degraded.
    pub(super) fn damaged_blocks(&self, geometry: &Geometry) -> DamagedBlocks {
        let group_blocks = u64::from(geometry.rows) * u64::from(geometry.cylinders);
        let lost = self.failed.iter().filter(|&&failed| failed > self.check).count() as u64;
        let damaged = self.failed.iter().filter(|&&failed| failed > 0).count() as u64;
        DamagedBlocks { lost: lost * group_blocks, degraded: (damaged - lost) * group_blocks }
    }

    /// Returns true if some tips have failed.
    pub(super) const fn have_failed(&self) -> bool {
        self.failures > 0
    }

    /// See [`crate::devices::Defects::counts`].
    pub(super) fn counts(&self, geometry: &Geometry) -> Vec<Count> {
        let DamagedBlocks { lost, degraded } = self.damaged_blocks(geometry);
        vec![
            Count::of("tips_failed", self.failures),
            Count::of("tips_remapped", self.remapped),
            Count::of("blocks_degraded", degraded),
            Count::of("blocks_lost", lost),
        ]
    }

    /// Returns how many of `blocks` blocks a pass fails to read, at random; `again` if their check tips are on.
    pub(super) fn read_errors(&mut self, blocks: u32, again: bool) -> u32 {
        let Some(errors) = &mut self.errors else { return 0 };
        let probability = if again { errors.again } else { errors.first };
        (0..blocks).map(|_| u32::from(errors.stream.chance(probability))).sum()
    }
}

impl Errors {
    /// Returns the errors of a sled whose blocks are under `data` data tips and at least `checks` working check tips.
    fn new(p: &MemsParameters, data: u32, checks: u32, sled: u32) -> Result<Self, Fault> {
        let first = probability_of_more_than(0, data, p.read_error_rate);
        let again = probability_of_more_than(checks, data + checks, p.read_error_rate);
        if again > MOST_REPEATED_ERRORS {
            return Err(Fault::conflict("read_error_rate", p.read_error_rate)
                .says(format!(
                    ": a block under {data} tips is not read in a pass with a probability of {again:.3}, above {MOST_REPEATED_ERRORS}: lower \
                     it or raise "
                ))
                .option("parity_tips"));
        }
        Ok(Self { stream: Stream::new(p.tip_seed, &format!("read errors of sled {sled}")), first, again })
    }
}

/// Returns the probability that more than `most` of `tips` tip sectors have errors, each with probability `rate` (binomial).
fn probability_of_more_than(most: u32, tips: u32, rate: f64) -> f64 {
    if most >= tips {
        return 0.0;
    }
    // Each term of the sum follows from the one before.
    let odds = rate / (1.0 - rate);
    let mut term = libm::pow(1.0 - rate, f64::from(tips));
    let mut at_most = 0.0;
    for wrong in 0..=most {
        at_most += term;
        term *= odds * f64::from(tips - wrong) / f64::from(wrong + 1);
    }
    (1.0 - at_most).max(0.0)
}

/// Checks that failures of tips are used only with blocks in rows.
fn check_transfer(p: &MemsParameters) -> Result<(), Fault> {
    let keys = [
        ("parity_tips", p.parity_tips > 0),
        ("failed_tips", p.failed_tips != FailedTips::default()),
        ("read_error_rate", p.read_error_rate > 0.0),
    ];
    match keys.into_iter().find(|&(_, is_used)| is_used && p.transfer != Transfer::Rows) {
        Some((key, _)) => {
            Err(Fault::conflict("transfer", if p.transfer == Transfer::Fluid { "fluid" } else { "points" })
                .says(": failing tips are modelled where blocks lie in rows: leave out ")
                .option(key)
                .says(", or take ")
                .set("transfer", "rows"))
        }
        None => Ok(()),
    }
}

/// Returns the failed tips, in the order in which they failed.
fn failed_tips(p: &MemsParameters, sled: u32) -> Result<Vec<u32>, Fault> {
    match &p.failed_tips {
        FailedTips::Number(number) if *number > p.tips => {
            Err(Fault::conflict("failed_tips", *number).says(" exceeds ").key_is("tips", p.tips))
        }
        FailedTips::Number(number) => Ok(random_tips(*number, p.tips, p.tip_seed, sled)),
        FailedTips::These(numbers) => {
            let mut known = BTreeSet::new();
            for (entry, &tip) in numbers.iter().enumerate() {
                let key = format!("failed_tips.{entry}");
                if tip >= p.tips {
                    let says = format!(": the sled has {} tips, from 0 on", p.tips);
                    return Err(Fault::misfit(key, tip).says(says));
                }
                if !known.insert(tip) {
                    return Err(Fault::misfit(key, tip).says(": it has failed already"));
                }
            }
            Ok(numbers.clone())
        }
    }
}

/// Returns `number` of `tips` tips, chosen at random. A smaller number gives the first of a larger one.
fn random_tips(number: u32, tips: u32, seed: u64, sled: u32) -> Vec<u32> {
    let mut stream = Stream::new(seed, &format!("failed tips of sled {sled}"));
    // A Fisher-Yates shuffle that stores only the tips it has moved.
    let mut moved: BTreeMap<u32, u32> = BTreeMap::new();
    (0..number)
        .map(|place| {
            let from = place + to_u32(stream.below(u64::from(tips - place)));
            let here = moved.get(&place).copied().unwrap_or(place);
            moved.insert(from, here).unwrap_or(if from == place { here } else { from })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_tips_are_distinct_and_fewer_are_a_prefix() {
        let all = random_tips(500, 500, 7, 0);
        assert!(all.iter().copied().collect::<BTreeSet<u32>>().into_iter().eq(0..500));
        assert_eq!(random_tips(40, 500, 7, 0), all[..40]);
        assert_ne!(random_tips(40, 500, 7, 1), all[..40]);
        assert_ne!(random_tips(40, 500, 8, 0), all[..40]);
    }

    /// Compared with values by hand, and with the sum of the other terms.
    #[test]
    fn error_probability_is_binomial() {
        assert!((probability_of_more_than(0, 3, 0.5) - 0.875).abs() < 1e-15);
        assert!((probability_of_more_than(1, 3, 0.1) - 0.028).abs() < 1e-15);
        assert_eq!(probability_of_more_than(3, 3, 0.9), 0.0);
        let choose = |k: u32| (0..k).map(|i| f64::from(72 - i) / f64::from(i + 1)).product::<f64>();
        let tail: f64 = (9..=72).map(|k| choose(k) * 0.05_f64.powi(k as i32) * 0.95_f64.powi(72 - k as i32)).sum();
        assert!((probability_of_more_than(8, 72, 0.05) - tail).abs() < 1e-12);
    }
}
