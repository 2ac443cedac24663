//! Parameter files of DiskSim: values that are carried over, values that are listed, and errors with their location.

mod as_data;
mod damage;
mod drives;
mod files;
mod refusals;
mod systems;
mod written;
