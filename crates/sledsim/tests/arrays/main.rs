//! Arrays: where things lie, what accesses cost against closed forms, what is read is what was written, through failures,
//! rebuilds, latent sector errors and power cuts.

#[allow(dead_code, reason = "each test file uses its part of it")]
#[path = "../common/ground.rs"]
mod ground;
#[allow(dead_code, reason = "each test file uses its part of it")]
#[path = "../common/scenarios.rs"]
mod scenarios;

mod building;
mod closed_forms;
mod contents;
mod cuts;
mod fits;
mod layouts;
mod rebuilds;
mod turnaround;
