//! Arrays: layouts, closed forms of times, and data integrity through failures, rebuilds, latent sector errors and power cuts.

mod building;
mod closed_forms;
mod contents;
mod cuts;
mod fits;
mod layouts;
mod rebuilds;
mod turnaround;
