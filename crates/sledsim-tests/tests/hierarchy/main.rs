//! Components over other components: closed forms of times, and data integrity.

mod actuator_ranges;
mod anticipation;
mod arrays;
mod cache_replacement;
mod caching_disk;
mod command_queue;
mod content_pairs;
mod drive_write_cache;
mod failed_sleds;
mod flushes;
mod merging;
mod ram_cache;
mod read_retries;
mod tiers;
mod volume_moves;
mod write_buffer;
mod zoned;
