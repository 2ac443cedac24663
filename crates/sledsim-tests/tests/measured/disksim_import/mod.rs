//! Parameter files of DiskSim: what is carried over, what is listed, and what is refused with its place.

mod as_data;
mod damage;
mod drives;
mod files;
mod refusals;
mod systems;
mod written;
