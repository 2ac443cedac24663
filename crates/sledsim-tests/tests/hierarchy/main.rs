//! Components made of components: times by closed forms, and that what is read is what was written.

mod anticipation;
mod arrays;
mod cache_replacement;
mod content_pairs;
mod failed_sleds;
mod flushes;
mod mcd;
mod merging;
mod mwb;
mod ram_cache;
mod tiers;
mod volume_moves;
