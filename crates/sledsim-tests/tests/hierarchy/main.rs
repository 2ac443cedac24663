//! Components over other components: closed forms of times, and data integrity.

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
