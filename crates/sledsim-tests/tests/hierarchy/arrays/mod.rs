//! Arrays: where things lie, what accesses cost against closed forms, what is read is what was written, through failures,
//! rebuilds, latent sector errors and power cuts.

mod building;
mod closed_forms;
mod contents;
mod cuts;
mod fits;
mod layouts;
mod rebuilds;
mod turnaround;
