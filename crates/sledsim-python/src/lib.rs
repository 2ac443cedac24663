//! Python bindings: they convert and forward, handle the GIL and signals, and convert errors. They have no other logic.

use pyo3::prelude::*;

mod catalog;
mod device;
mod disk;
mod disksim;
mod document;
mod errors;
mod hit_ratio;
mod limits;
mod mems;
mod plugin;
mod raw;
mod reliability;
mod run;
mod scenario;
#[cfg(target_os = "linux")]
mod serving;
mod session;
mod trace;
mod values;
mod watch;

pub use sledsim::plugin::RustPlugins;

/// The compiled core of Sledsim.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    fill(module, RustPlugins::default())
}

/// Fills a Python module with the compiled core of Sledsim and the plugins of a crate. Sledsim loads the module instead
/// of its default core if the environment variable `SLEDSIM_CORE` names it.
///
/// # Errors
/// The name of a plugin is taken, or Python refuses an addition to the module.
pub fn fill(module: &Bound<'_, PyModule>, plugins: RustPlugins) -> PyResult<()> {
    errors::prepare(module.py())?;
    plugin::rust::add(plugins)?;
    // A panic is reported as a Python exception, not on the standard error stream.
    std::panic::set_hook(Box::new(|_| {}));
    let python = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("SledsimError", python.get_type::<errors::SledsimError>())?;
    module.add("ScenarioError", python.get_type::<errors::ScenarioError>())?;
    module.add("TraceError", python.get_type::<errors::TraceError>())?;
    module.add("RunError", python.get_type::<errors::RunError>())?;
    module.add_class::<errors::Fault>()?;
    module.add_function(wrap_pyfunction!(errors::error_of, module)?)?;
    module.add_function(wrap_pyfunction!(errors::nearest, module)?)?;
    module.add_function(wrap_pyfunction!(errors::most_like, module)?)?;
    module.add_class::<scenario::Written>()?;
    module.add_class::<scenario::Scenario>()?;
    module.add_function(wrap_pyfunction!(catalog::catalog_names, module)?)?;
    module.add_function(wrap_pyfunction!(catalog::catalog_entry, module)?)?;
    module.add_class::<document::Document>()?;
    module.add_class::<document::Schema>()?;
    module.add_function(wrap_pyfunction!(document::quantity, module)?)?;
    module.add_function(wrap_pyfunction!(document::split_quantity, module)?)?;
    module.add_class::<plugin::views::Pending>()?;
    module.add_class::<plugin::views::Request>()?;
    module.add_class::<plugin::views::Copies>()?;
    module.add_class::<plugin::views::Modes>()?;
    module.add_class::<run::RunOutput>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<session::Completion>()?;
    module.add_class::<device::Device>()?;
    module.add_class::<disk::Disk>()?;
    module.add_class::<mems::Sled>()?;
    module.add_class::<trace::TraceReader>()?;
    module.add_class::<trace::TraceTable>()?;
    module.add_function(wrap_pyfunction!(scenario::schema, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::result_schema, module)?)?;
    module.add_function(wrap_pyfunction!(plugin::policy_title, module)?)?;
    module.add_function(wrap_pyfunction!(plugin::guard::wake_by, module)?)?;
    module.add_function(wrap_pyfunction!(plugin::guard::end_when_stuck, module)?)?;
    module.add_function(wrap_pyfunction!(plugin::guard::call_with_timeout, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::schedulers, module)?)?;
    module.add_function(wrap_pyfunction!(plugin::rust::mechanisms, module)?)?;
    module.add_function(wrap_pyfunction!(run::phases, module)?)?;
    module.add_function(wrap_pyfunction!(run::mean_interval, module)?)?;
    module.add_function(wrap_pyfunction!(disksim::import_disksim, module)?)?;
    module.add_function(wrap_pyfunction!(disksim::disksim_reference, module)?)?;
    module.add_function(wrap_pyfunction!(reliability::enclosure_lifetimes, module)?)?;
    module.add_function(wrap_pyfunction!(reliability::enclosure_reach, module)?)?;
    module.add_function(wrap_pyfunction!(hit_ratio::cache_policies, module)?)?;
    module.add_function(wrap_pyfunction!(hit_ratio::hit_ratios, module)?)?;
    module.add_function(wrap_pyfunction!(limits::limits, module)?)?;
    #[cfg(target_os = "linux")]
    module.add_function(wrap_pyfunction!(serving::serve_nbd, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_convert, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_formats, module)?)?;
    module.add_function(wrap_pyfunction!(trace::used_columns, module)?)?;
    Ok(())
}
