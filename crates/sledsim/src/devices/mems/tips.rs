//! Tips that fail: spare ones in their place, codes over the tips of a block, and what is lost beyond both (Schlosser et al. 2000,
//! sections 2.3 and 2.4).
//!
//! A block lies under `data` tips and, with a code over them, under `check` more at the same place of their regions. A spare tip
//! takes the place of one that has failed, at the same place of its own region: what lies there is reached as before. Without one,
//! a block is computed from as many of its other tips as it has data tips; a block that has fewer left is lost.

use std::collections::{BTreeMap, BTreeSet};

use crate::convert::to_u32;
use crate::devices::mems::geometry::Geometry;
use crate::devices::mems::parameters::{FailedTips, MemsParameters, Transfer};
use crate::devices::Condition;
use crate::engine::details::Count;
use crate::engine::random::Stream;
use crate::fault::Fault;

/// Passes that a block takes on average must be fewer than this: a device that fails to read more often than not is none.
const LEAST_READ: f64 = 0.5;

/// The tips of a sled, as far as they fail.
#[derive(Clone, Debug)]
pub(super) struct Tips {
    /// Check tips of a block.
    pub(super) check: u32,
    /// Failed tips without a spare, by the tips that a block is under; empty where there are none.
    failed: Vec<u32>,
    blocks_per_row: u32,
    /// Tips that failed, and those of them whose place a spare one has.
    known: u64,
    remapped: u64,
    errors: Option<Errors>,
}

/// Tip sectors that can't be read in a pass.
#[derive(Clone, Debug)]
struct Errors {
    stream: Stream,
    /// Probability that a block is not read by its data tips alone, and by all its tips in another pass.
    first: f64,
    again: f64,
}

impl Tips {
    /// Those of a sled of `parameters`, the `sled`-th of its device.
    ///
    /// # Errors
    /// Tips that are not there, or keys that exclude each other: says which.
    pub(super) fn new(parameters: &MemsParameters, geometry: &Geometry, sled: u32) -> Result<Self, Fault> {
        let p = parameters;
        check_transfer(p)?;
        let failed = failed_tips(p, sled)?;
        let (data, check) = (p.block_bytes / p.tip_sector_bytes, p.parity_tips);
        let broken: BTreeSet<u32> = failed.iter().copied().collect();
        let mut spares = (p.tips - p.spare_tips..p.tips).filter(|spare| !broken.contains(spare));
        let mut tips = Self {
            check,
            failed: Vec::new(),
            blocks_per_row: geometry.blocks_per_row,
            known: failed.len() as u64,
            remapped: 0,
            errors: None,
        };
        for &tip in &failed {
            let (track, place) = (tip / p.active_tips, tip % p.active_tips / (data + check));
            if track >= geometry.tracks || place >= geometry.blocks_per_row || tip >= p.tips - p.spare_tips {
                // No block is under it.
                continue;
            }
            if spares.next().is_some() {
                tips.remapped += 1;
                continue;
            }
            tips.failed.resize((geometry.tracks * geometry.blocks_per_row) as usize, 0);
            tips.failed[(track * geometry.blocks_per_row + place) as usize] += 1;
        }
        if p.read_error_rate > 0.0 {
            tips.errors = Some(Errors::new(p, data, tips.fewest_checks(), sled)?);
        }
        Ok(tips)
    }

    /// Check tips that a block has left which has fewest, of those that are not lost.
    fn fewest_checks(&self) -> u32 {
        self.failed
            .iter()
            .filter(|&&failed| failed <= self.check)
            .map(|failed| self.check - failed)
            .min()
            .unwrap_or(self.check)
    }

    /// Whether passes may have to be made again.
    pub(super) fn misread(&self) -> bool {
        self.errors.is_some()
    }

    /// Tips on in a pass over whole blocks under so many tips, of which `reads` are read: their check tips stay off.
    #[inline]
    pub(super) fn on(&self, tips: u32, reads: u32) -> u32 {
        tips - reads * self.check
    }

    /// What has become of `blocks` blocks of a row, of which the first lies under the tips of the number `group`.
    fn of_row(&self, group: u32, blocks: u32) -> Condition {
        let failed = &self.failed[group as usize..(group + blocks) as usize];
        match failed.iter().max() {
            Some(&most) if most > self.check => Condition::Lost,
            Some(&most) if most > 0 => Condition::Degraded,
            _ => Condition::Whole,
        }
    }

    /// What has become of `blocks` blocks from `lbn` on: the worst of them.
    pub(super) fn condition(&self, geometry: &Geometry, lbn: u64, blocks: u32) -> Condition {
        let mut worst = Condition::Whole;
        if self.failed.is_empty() {
            return worst;
        }
        let (mut place, mut left) = (geometry.place(lbn), blocks);
        while left > 0 && worst < Condition::Lost {
            let here = left.min(self.blocks_per_row - place.slot);
            worst = worst.max(self.of_row(geometry.group(&place), here));
            left -= here;
            if left > 0 {
                place = geometry.next_row(&place);
            }
        }
        worst
    }

    /// Blocks of the sled that are lost, and that are computed from others.
    pub(super) fn lost_and_degraded(&self, geometry: &Geometry) -> (u64, u64) {
        let under_each = u64::from(geometry.rows) * u64::from(geometry.cylinders);
        let count = |is: &dyn Fn(u32) -> bool| self.failed.iter().filter(|&&failed| is(failed)).count() as u64;
        let lost = count(&|failed| failed > self.check);
        (lost * under_each, count(&|failed| failed > 0 && failed <= self.check) * under_each)
    }

    /// Returns true if some are known to have failed.
    pub(super) const fn have_failed(&self) -> bool {
        self.known > 0
    }

    /// See [`crate::devices::Defects::counts`].
    pub(super) fn counts(&self, geometry: &Geometry) -> Vec<Count> {
        let (lost, degraded) = self.lost_and_degraded(geometry);
        vec![
            Count::of("tips_failed", self.known),
            Count::of("tips_remapped", self.remapped),
            Count::of("blocks_degraded", degraded),
            Count::of("blocks_lost", lost),
        ]
    }

    /// Of so many blocks that a pass reads, those that it fails to; `again` where their check tips are on.
    pub(super) fn misses(&mut self, blocks: u32, again: bool) -> u32 {
        let Some(errors) = &mut self.errors else { return 0 };
        let probability = if again { errors.again } else { errors.first };
        (0..blocks).map(|_| u32::from(errors.stream.chance(probability))).sum()
    }
}

impl Errors {
    fn new(p: &MemsParameters, data: u32, checks: u32, sled: u32) -> Result<Self, Fault> {
        let first = more_than(0, data, p.read_error_rate);
        let again = more_than(checks, data + checks, p.read_error_rate);
        if 1.0 - again < LEAST_READ {
            return Err(Fault::conflict("read_error_rate", p.read_error_rate)
                .says(format!(
                    ": a block under {data} tips is not read in a pass with a probability of {again:.3}, above {LEAST_READ}: lower \
                     it or raise "
                ))
                .option("parity_tips"));
        }
        Ok(Self { stream: Stream::new(p.tip_seed, &format!("read errors of sled {sled}")), first, again })
    }
}

/// Probability that of `tips` tip sectors, each wrong with probability `rate`, more than `most` are.
fn more_than(most: u32, tips: u32, rate: f64) -> f64 {
    if most >= tips {
        return 0.0;
    }
    // From none up: each term follows from the one before.
    let odds = rate / (1.0 - rate);
    let mut term = libm::pow(1.0 - rate, f64::from(tips));
    let mut at_most = 0.0;
    for wrong in 0..=most {
        at_most += term;
        term *= odds * f64::from(tips - wrong) / f64::from(wrong + 1);
    }
    (1.0 - at_most).max(0.0)
}

/// Checks that failures of tips are asked for only where blocks lie under tips of their own.
fn check_transfer(p: &MemsParameters) -> Result<(), Fault> {
    let asked = [
        ("parity_tips", p.parity_tips > 0),
        ("failed_tips", p.failed_tips != FailedTips::default()),
        ("read_error_rate", p.read_error_rate > 0.0),
    ];
    match asked.into_iter().find(|&(_, asked)| asked && p.transfer != Transfer::Rows) {
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

/// The numbers of the tips that have failed, in the order in which they did.
fn failed_tips(p: &MemsParameters, sled: u32) -> Result<Vec<u32>, Fault> {
    match &p.failed_tips {
        FailedTips::Number(number) if *number > p.tips => {
            Err(Fault::conflict("failed_tips", *number).says(" exceeds ").key_is("tips", p.tips))
        }
        FailedTips::Number(number) => Ok(drawn(*number, p.tips, p.tip_seed, sled)),
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

/// So many of `tips` tips, each as likely as another; fewer of them are the first of more.
fn drawn(number: u32, tips: u32, seed: u64, sled: u32) -> Vec<u32> {
    let mut stream = Stream::new(seed, &format!("failed tips of sled {sled}"));
    // A shuffle of which only what it has moved is kept.
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
    fn a_shuffle_draws_each_tip_once_and_fewer_are_the_first_of_more() {
        let all = drawn(500, 500, 7, 0);
        assert!(all.iter().copied().collect::<BTreeSet<u32>>().into_iter().eq(0..500));
        assert_eq!(drawn(40, 500, 7, 0), all[..40]);
        assert_ne!(drawn(40, 500, 7, 1), all[..40]);
        assert_ne!(drawn(40, 500, 8, 0), all[..40]);
    }

    /// By hand, and with the sum over all that is left.
    #[test]
    fn errors_beyond_a_code_have_the_probability_of_a_binomial() {
        assert!((more_than(0, 3, 0.5) - 0.875).abs() < 1e-15);
        assert!((more_than(1, 3, 0.1) - 0.028).abs() < 1e-15);
        assert_eq!(more_than(3, 3, 0.9), 0.0);
        let choose = |k: u32| (0..k).map(|i| f64::from(72 - i) / f64::from(i + 1)).product::<f64>();
        let tail: f64 = (9..=72).map(|k| choose(k) * 0.05_f64.powi(k as i32) * 0.95_f64.powi(72 - k as i32)).sum();
        assert!((more_than(8, 72, 0.05) - tail).abs() < 1e-12);
    }
}
