//! A network block device whose replies are sent at the times of a simulated system.
//!
//! Any program that speaks the protocol of network block devices, from `fio` to the kernel, becomes the workload of a
//! [`Session`](sledsim::scenario::Session). Requests arrive when they have been read from their sockets, and replies are sent when the
//! simulated device would have completed them. The data are kept in memory or in a file.

pub mod client;
pub mod delivery;
pub mod files;
pub mod latency;
pub mod log;
pub mod os;
pub mod protocol;
pub mod server;
pub mod sockets;
pub mod store;
