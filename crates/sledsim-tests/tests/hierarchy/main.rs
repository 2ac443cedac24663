//! Components made of components: times by closed forms, and that what is read is what was written.

mod anticipation;
mod arrays;
mod cache_replacement;
mod caching_disk;
mod content_pairs;
mod failed_sleds;
mod flushes;
mod merging;
mod ram_cache;
mod tiers;
mod volume_moves;
mod write_buffer;
