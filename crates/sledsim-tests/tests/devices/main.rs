//! Devices: the contract of all mechanisms, and the behaviour of each.

mod catalogue_disks;
mod device_contract;
mod device_contract_batches;
mod device_contract_idle;
mod device_contract_mechanisms;
mod device_contract_merged;
mod device_contract_subsector;
mod disk_buffer;
mod disk_commands;
mod disk_keys;
mod disk_layout;
mod disk_mechanics;
mod disk_physical_sectors;
mod disk_retries;
mod disk_rotation;
mod disk_seek;
mod mems_buffer;
mod mems_fluid;
mod mems_options;
mod mems_passes;
mod mems_points;
mod mems_subsector;
mod mems_tips;
mod motion;
mod simple_devices;
