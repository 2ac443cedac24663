//! What a device says of a served request: when, in which phases, for how many joules.

use std::ops::{AddAssign, Sub};

use crate::time::Time;

/// What a mechanism does at an instant; every nanosecond of a run is in exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum State {
    /// Stopped to save power.
    Inactive,
    /// On the way from inactive to ready.
    Startup,
    /// Positioning, before and between passes.
    Seek,
    /// Waiting on track for the platter to bring the first sector round.
    Rotation,
    /// Servo bursts pass under the tips.
    Servo,
    /// Data bits pass under the tips.
    Data,
    /// Ready, with nothing to do (bus transfers included).
    Idle,
}

/// Names of the states, in the order of [`State`].
pub const STATES: [&str; 7] = ["inactive", "startup", "seek", "rotation", "servo", "data", "idle"];

/// Most idle modes of a device, the one in which it is ready included.
pub const MODES: usize = 6;

/// What a device spent in one of its idle modes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spell {
    /// Nanoseconds.
    pub time_ns: u64,
    /// Joules.
    pub energy_j: f64,
    /// How often it was entered.
    pub entered: u64,
}

/// Time and energy by state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnergyLedger {
    /// Nanoseconds in each state, in the order of [`State`].
    pub time_ns: [u64; STATES.len()],
    /// Joules in each state, in the order of [`State`].
    pub energy_j: [f64; STATES.len()],
    /// How often each state was entered, in the order of [`State`].
    pub entered: [u64; STATES.len()],
    /// The idle modes, from the ready one down: the first is [`State::Idle`], the others together are [`State::Inactive`].
    pub modes: [Spell; MODES],
    /// Joules that the best choice with hindsight would have saved in the idle periods of the run: no spin-down policy could
    /// have spent less in them than what was spent less this.
    pub regret_j: f64,
}

impl EnergyLedger {
    /// Joules over all states.
    #[must_use]
    pub fn total_j(&self) -> f64 {
        self.energy_j.iter().sum()
    }

    /// Number of start-ups.
    #[must_use]
    pub fn startups(&self) -> u64 {
        self.entered[State::Startup as usize]
    }

    /// Nanoseconds over all states.
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
        for (spell, others) in self.modes.iter_mut().zip(&other.modes) {
            spell.time_ns += others.time_ns;
            spell.energy_j += others.energy_j;
            spell.entered += others.entered;
        }
        self.regret_j += other.regret_j;
    }
}

impl Sub for &EnergyLedger {
    type Output = EnergyLedger;
    /// What was booked since `earlier`, an older reading of the same ledger.
    fn sub(self, earlier: Self) -> EnergyLedger {
        let mut since =
            EnergyLedger { regret_j: (self.regret_j - earlier.regret_j).max(0.0), ..EnergyLedger::default() };
        for i in 0..STATES.len() {
            since.time_ns[i] = self.time_ns[i] - earlier.time_ns[i];
            since.energy_j[i] = (self.energy_j[i] - earlier.energy_j[i]).max(0.0);
            since.entered[i] = self.entered[i] - earlier.entered[i];
        }
        for (i, spell) in since.modes.iter_mut().enumerate() {
            let (now, then) = (&self.modes[i], &earlier.modes[i]);
            spell.time_ns = now.time_ns - then.time_ns;
            spell.energy_j = (now.energy_j - then.energy_j).max(0.0);
            spell.entered = now.entered - then.entered;
        }
        since
    }
}

/// Calls a macro with every phase of a service: what it is, its key, its field, what people call it, the phase that it is a
/// part of, and the mechanisms that always show it, with their own word for it where they have one.
macro_rules! each_phase {
    ($then:ident) => {
        $then! {
            /// Start-up after inactivity.
            startup startup_ns "start-up" "" [mems];
            /// Command processing within the service: overheads of a drive that nothing mechanical covers.
            command command_ns "command" "" [disk];
            /// Waiting for what the mechanism still does on its own account: writing behind, reading ahead. Of a request served
            /// in parts also the time in which the part that ended last was not under way.
            background background_ns "waiting for the drive's own work" "" [disk];
            /// Positioning before the first pass: the longer of `seek_x` and `seek_y`.
            seek seek_ns "seek" "" [mems disk];
            /// Positioning along X, settling included.
            seek_x seek_x_ns "along X" "seek" [mems];
            /// Positioning along Y, reversals included, and settling where a sled goes on along X.
            seek_y seek_y_ns "along Y" "seek" [mems];
            /// Settling within `seek_x`.
            settle settle_ns "settling" "seek_x" [mems];
            /// Reversals within `seek_y`; 0 where the seek model does not tell them apart.
            seek_turnaround seek_turnaround_ns "turnarounds" "seek_y" [mems];
            /// Waiting on track for the platter to bring the first sector round.
            rotation rotation_ns "rotation" "" [disk];
            /// Positioning between the passes of a request.
            turnaround turnaround_ns "turnarounds between rows" "" [mems disk "between tracks"];
            /// Servo bursts passing under the tips.
            servo servo_ns "servo" "" [mems];
            /// Data bits passing under the tips.
            transfer transfer_ns "transfer" "" [mems disk];
            /// Bus transfer that nothing else covers.
            bus bus_ns "bus" "" [mems disk];
        }
    };
}
pub(crate) use each_phase;

/// What is known of a phase besides its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseFacts {
    /// Its key in results; columns of logs add `_ns`.
    pub name: &'static str,
    /// What people call it.
    pub label: &'static str,
    /// The phase that it is a part of; empty where it is one of those that add up to the service.
    pub within: &'static str,
    /// Kinds of mechanisms that always show it, with what they call it.
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
        /// What is known of each phase, in the order of [`Phases::values_ns`].
        pub const PHASES: [PhaseFacts; [$(stringify!($name)),+].len()] = [$(PhaseFacts {
            name: stringify!($name),
            label: $label,
            within: $within,
            mechanisms: &[$((stringify!($mechanism), last!($label $($other)?))),+],
        }),+];

        /// Phases of one request, in nanoseconds. Those that are no part of another add up to the service time. Parts run in
        /// parallel: `seek` is the longer of `seek_x` and `seek_y`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Phases {
            $($(#[$what])+ pub $field: u64,)+
        }

        impl Phases {
            /// Each phase, in the order of [`PHASES`].
            #[inline]
            #[must_use]
            pub const fn values_ns(&self) -> [u64; PHASES.len()] {
                [$(self.$field),+]
            }

            /// From dispatch to completion.
            #[inline]
            #[must_use]
            pub const fn service_ns(&self) -> u64 {
                0 $(+ if $within.is_empty() { self.$field } else { 0 })+
            }
        }
    };
}
each_phase!(declare_phases);

/// Joules spent on one request, by what the mechanism did. Idle and inactive time before it is nobody's.
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
    /// Joules in all.
    #[must_use]
    pub fn total_j(&self) -> f64 {
        self.startup_j + self.seek_j + self.rotation_j + self.servo_j + self.data_j + self.idle_j
    }

    /// Joules for positioning, rotation, servo and data.
    #[must_use]
    pub fn servicing_j(&self) -> f64 {
        self.seek_j + self.rotation_j + self.servo_j + self.data_j
    }

    /// A share of it.
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

/// Outcome of one request at a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Service {
    /// When the request was dispatched.
    pub start: Time,
    /// When the host has everything: the completion.
    pub end: Time,
    /// When the mechanism can begin the next request: not after `end`, but for members of a batch that end early.
    pub free: Time,
    /// Where the time went.
    pub phases: Phases,
    /// Joules spent on this request.
    pub energy: RequestEnergy,
}
