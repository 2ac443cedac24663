//! A network block device whose answers come when a simulated system says so.
//!
//! Any program that speaks the protocol of network block devices, from `fio` to the kernel, becomes the workload of a
//! [`Session`](sledsim::scenario::Session): requests arrive as they are read, and are answered when the simulated device would have
//! done them. The data are kept beside, in memory or in a file.

pub mod delivery;
pub mod files;
pub mod log;
pub mod os;
pub mod protocol;
pub mod reply;
pub mod server;
pub mod sockets;
pub mod store;
pub mod way;
