//! The result of serving a request: times, phases and energy; and totals of time and energy by state.

use std::ops::{AddAssign, Sub};

use crate::time::Time;

/// The state of a mechanism. Each nanosecond of a run belongs to exactly one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum State {
    /// Stopped to save power.
    Inactive,
    /// Starting up from inactive to ready.
    Startup,
    /// Positioning, before and between passes.
    Seek,
    /// Waiting on track for the rotational position of the first sector.
    Rotation,
    /// Servo bursts pass under the tips.
    Servo,
    /// Data bits pass under the tips.
    Data,
    /// Ready and idle, including bus transfers.
    Idle,
}

/// Names of the states, in the order of [`State`].
pub const STATES: [&str; 7] = ["inactive", "startup", "seek", "rotation", "servo", "data", "idle"];

/// Most idle modes of a device, including the ready mode.
pub const MODES: usize = 6;

/// Totals of a device in one of its idle modes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModeTotals {
    /// Time, ns.
    pub time_ns: u64,
    /// Energy, J.
    pub energy_j: f64,
    /// Number of entries.
    pub entered: u64,
}

/// Totals of time and energy by state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnergyLedger {
    /// Time in each state, ns, in the order of [`State`].
    pub time_ns: [u64; STATES.len()],
    /// Energy in each state, J, in the order of [`State`].
    pub energy_j: [f64; STATES.len()],
    /// Number of entries of each state, in the order of [`State`].
    pub entered: [u64; STATES.len()],
    /// The idle modes, from the ready mode to the deepest: the first is [`State::Idle`], the others together are [`State::Inactive`].
    pub modes: [ModeTotals; MODES],
    /// Energy in idle intervals above that of the ideal policy, which knows the lengths of all idle intervals, J.
    pub regret_j: f64,
}

impl EnergyLedger {
    /// Returns the energy in all states, J.
    #[must_use]
    pub fn total_j(&self) -> f64 {
        self.energy_j.iter().sum()
    }

    /// Returns the number of start-ups.
    #[must_use]
    pub fn startups(&self) -> u64 {
        self.entered[State::Startup as usize]
    }

    /// Returns the time in all states, ns.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.time_ns.iter().sum()
    }
}

impl AddAssign<&Self> for EnergyLedger {
    fn add_assign(&mut self, other: &Self) {
        for i in 0..STATES.len() {
            self.time_ns[i] += other.time_ns[i];
            self.energy_j[i] += other.energy_j[i];
            self.entered[i] += other.entered[i];
        }
        for (mode, others) in self.modes.iter_mut().zip(&other.modes) {
            mode.time_ns += others.time_ns;
            mode.energy_j += others.energy_j;
            mode.entered += others.entered;
        }
        self.regret_j += other.regret_j;
    }
}

impl Sub for &EnergyLedger {
    type Output = EnergyLedger;
    /// Returns the totals since `earlier`, an older copy of the same ledger.
    fn sub(self, earlier: Self) -> EnergyLedger {
        let mut since =
            EnergyLedger { regret_j: (self.regret_j - earlier.regret_j).max(0.0), ..EnergyLedger::default() };
        for i in 0..STATES.len() {
            since.time_ns[i] = self.time_ns[i] - earlier.time_ns[i];
            since.energy_j[i] = (self.energy_j[i] - earlier.energy_j[i]).max(0.0);
            since.entered[i] = self.entered[i] - earlier.entered[i];
        }
        for (i, mode) in since.modes.iter_mut().enumerate() {
            let (now, then) = (&self.modes[i], &earlier.modes[i]);
            mode.time_ns = now.time_ns - then.time_ns;
            mode.energy_j = (now.energy_j - then.energy_j).max(0.0);
            mode.entered = now.entered - then.entered;
        }
        since
    }
}

/// Calls a macro with every phase of a service: description, key, field, label, enclosing phase, and the mechanisms that always
/// report it, with their own label if they have one.
macro_rules! each_phase {
    ($then:ident) => {
        $then! {
            /// Start-up after inactivity.
            startup startup_ns "start-up" "" [mems];
            /// Command processing during the service: overheads of a drive that do not overlap with mechanical work.
            command command_ns "command" "" [disk];
            /// Waiting for background work of the drive: write-behind and read-ahead. For a request served in parts, also the time
            /// before the last part was dispatched.
            background background_ns "wait for background work or earlier parts" "" [disk];
            /// Positioning before the first pass: the longer of `seek_x` and `seek_y`.
            seek seek_ns "seek" "" [mems disk];
            /// Positioning along X, settling included.
            seek_x seek_x_ns "along X" "seek" [mems];
            /// Positioning along Y, including reversals, and settling if the sled continues along X.
            seek_y seek_y_ns "along Y" "seek" [mems];
            /// Settling within `seek_x`.
            settle settle_ns "settling" "seek_x" [mems];
            /// Reversals within `seek_y`; 0 if the seek model does not distinguish them.
            seek_turnaround seek_turnaround_ns "turnarounds" "seek_y" [mems];
            /// Waiting on track for the rotational position of the first sector.
            rotation rotation_ns "rotation" "" [disk];
            /// Positioning between the passes of a request.
            turnaround turnaround_ns "turnarounds between rows" "" [mems disk "between tracks, and read retries"];
            /// Servo bursts passing under the tips.
            servo servo_ns "servo" "" [mems];
            /// Data bits passing under the tips.
            transfer transfer_ns "transfer" "" [mems disk];
            /// Bus transfer that does not overlap with other phases.
            bus bus_ns "bus" "" [mems disk];
        }
    };
}
pub(crate) use each_phase;

/// Description of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseFacts {
    /// Key in results; the column of a log has the suffix `_ns`.
    pub name: &'static str,
    /// Label for people.
    pub label: &'static str,
    /// The phase that it is a part of; empty where it is one of those that add up to the service.
    pub within: &'static str,
    /// Kinds of mechanisms that always report it, with their label.
    pub mechanisms: &'static [(&'static str, &'static str)],
}

macro_rules! last {
    ($label:literal) => {
        $label
    };
    ($label:literal $other:literal) => {
        $other
    };
}

macro_rules! declare_phases {
    ($($(#[$what:meta])+ $name:ident $field:ident $label:literal $within:literal [$($mechanism:ident $($other:literal)?)+];)+) => {
        /// Descriptions of the phases, in the order of [`Phases::values_ns`].
        pub const PHASES: [PhaseFacts; [$(stringify!($name)),+].len()] = [$(PhaseFacts {
            name: stringify!($name),
            label: $label,
            within: $within,
            mechanisms: &[$((stringify!($mechanism), last!($label $($other)?))),+],
        }),+];

        /// Phases of one request, ns. The phases without an enclosing phase add up to the service time. Enclosed phases can overlap:
        /// `seek` is the longer of `seek_x` and `seek_y`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Phases {
            $($(#[$what])+ pub $field: u64,)+
        }

        impl Phases {
            /// Returns the phases in the order of [`PHASES`], ns.
            #[inline]
            #[must_use]
            pub const fn values_ns(&self) -> [u64; PHASES.len()] {
                [$(self.$field),+]
            }

            /// Returns the time from dispatch to completion, ns.
            #[inline]
            #[must_use]
            pub const fn service_ns(&self) -> u64 {
                0 $(+ if $within.is_empty() { self.$field } else { 0 })+
            }
        }
    };
}
each_phase!(declare_phases);

/// Energy of one request by activity. The energy of idle and inactive time before it belongs to no request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RequestEnergy {
    /// Starting up.
    pub startup_j: f64,
    /// Positioning, before and between passes.
    pub seek_j: f64,
    /// Waiting on track for a sector.
    pub rotation_j: f64,
    /// Servo bursts.
    pub servo_j: f64,
    /// Data bits.
    pub data_j: f64,
    /// Waiting for the bus before a pass.
    pub idle_j: f64,
}

impl RequestEnergy {
    /// Returns the total energy, J.
    #[must_use]
    pub fn total_j(&self) -> f64 {
        self.startup_j + self.seek_j + self.rotation_j + self.servo_j + self.data_j + self.idle_j
    }

    /// Returns the energy of positioning, rotation, servo and data, J.
    #[must_use]
    pub fn servicing_j(&self) -> f64 {
        self.seek_j + self.rotation_j + self.servo_j + self.data_j
    }

    /// Returns a fraction of each energy.
    #[must_use]
    pub fn share(&self, fraction: f64) -> Self {
        Self {
            startup_j: self.startup_j * fraction,
            seek_j: self.seek_j * fraction,
            rotation_j: self.rotation_j * fraction,
            servo_j: self.servo_j * fraction,
            data_j: self.data_j * fraction,
            idle_j: self.idle_j * fraction,
        }
    }
}

impl AddAssign for RequestEnergy {
    fn add_assign(&mut self, other: Self) {
        self.startup_j += other.startup_j;
        self.seek_j += other.seek_j;
        self.rotation_j += other.rotation_j;
        self.servo_j += other.servo_j;
        self.data_j += other.data_j;
        self.idle_j += other.idle_j;
    }
}

/// The service of one request by a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Service {
    /// Time of dispatch.
    pub start: Time,
    /// Time of completion, when all data has been transferred.
    pub end: Time,
    /// Time at which the mechanism can start the next request; not after `end`, except for members of a batch that end early.
    pub free: Time,
    /// Phases.
    pub phases: Phases,
    /// Energy.
    pub energy: RequestEnergy,
}
