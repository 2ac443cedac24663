//! The recorded motion of a mechanism: positions at every instant of its services, for drawings.

use crate::time::Time;

/// Motion along an axis under constant acceleration and, if `kappa` is above 0, springs: `x'' = accel_m_s2 − kappa x`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arc {
    /// Duration in seconds.
    pub time_s: f64,
    /// Position at its start, in metres.
    pub position_m: f64,
    /// Signed speed at its start.
    pub speed_m_s: f64,
    /// Signed acceleration, without that of springs.
    pub accel_m_s2: f64,
    /// Stiffness of the springs per mass, in 1/s².
    pub kappa: f64,
}

/// Position, speed and acceleration along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AxisMotion {
    /// Position in metres.
    pub position_m: f64,
    /// Signed speed.
    pub speed_m_s: f64,
    /// Signed acceleration, that of springs included.
    pub accel_m_s2: f64,
}

impl Arc {
    /// Returns an arc at rest.
    #[must_use]
    pub fn rest(position_m: f64, time_s: f64) -> Self {
        Self { time_s, position_m, ..Self::default() }
    }

    /// Returns the motion after `time_s` seconds of the arc.
    #[must_use]
    pub fn after(&self, time_s: f64) -> AxisMotion {
        let Self { position_m: x, speed_m_s: v, accel_m_s2: u, kappa, .. } = *self;
        if kappa == 0.0 {
            let position_m = x + time_s * (v + 0.5 * u * time_s);
            return AxisMotion { position_m, speed_m_s: v + u * time_s, accel_m_s2: u };
        }
        let omega = kappa.sqrt();
        let (sin, cos) = (libm::sin(omega * time_s), libm::cos(omega * time_s));
        // `(1 − cos) / κ` without cancellation for short times.
        let half_sin = libm::sin(0.5 * omega * time_s) / omega;
        let position_m = x * cos + v * sin / omega + 2.0 * u * half_sin * half_sin;
        let speed_m_s = v * cos + (u - kappa * x) * sin / omega;
        AxisMotion { position_m, speed_m_s, accel_m_s2: u - kappa * position_m }
    }

    /// Returns the motion at the end of the arc.
    #[must_use]
    pub fn end(&self) -> AxisMotion {
        self.after(self.time_s)
    }
}

/// The kind of movement of a mechanism along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    /// It holds its position: it starts up, settles, or waits for the other axis or for the bus.
    Hold,
    /// It moves to another position.
    Seek,
    /// The medium passes under the tips or heads.
    Access,
}

/// An arc from an instant on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedArc {
    /// The start of the move that the arc belongs to.
    pub start: Time,
    /// Time from there to the start of the arc, in seconds.
    pub offset_s: f64,
    /// The motion.
    pub arc: Arc,
    /// Kind of movement.
    pub movement: Movement,
}

/// The recorded motion of a mechanism along its axes: X and Y of a sled, or the arms of a disk. A new log does not record.
#[derive(Clone, Debug, Default)]
pub struct MotionLog {
    is_recording: bool,
    axes: [Vec<RecordedArc>; 2],
}

impl MotionLog {
    /// Starts to record.
    pub fn record(&mut self) {
        self.is_recording = true;
    }

    /// Returns true if it records.
    #[inline]
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.is_recording
    }

    /// Returns the arcs recorded so far, by axis and in the order of time, and removes them.
    pub fn take(&mut self) -> [Vec<RecordedArc>; 2] {
        std::mem::take(&mut self.axes)
    }

    /// Adds consecutive arcs along an axis from `start` on.
    pub(super) fn add(&mut self, axis: usize, start: Time, movement: Movement, arcs: impl IntoIterator<Item = Arc>) {
        let mut offset_s = 0.0;
        for arc in arcs {
            self.axes[axis].push(RecordedArc { start, offset_s, arc, movement });
            offset_s += arc.time_s;
        }
    }
}
