"""The relations between a drawing and the numbers of the device, each with its source or named as an assumption.

All of them are in SI, of one sled, and smooth: whole tips, rows and tracks are the device's.
"""

import math
from dataclasses import dataclass
from functools import cached_property

from sledsim.scenario.drawings.drawing import Drawing

__all__ = ["GRAVITY_M_S2", "TIPS_PER_BLOCK", "Relations"]

GRAVITY_M_S2 = 9.80665
#: A block of 512 bytes lies under 64 tips, 8 bytes under each (griffin1999, Table 1).
TIPS_PER_BLOCK, TIP_SECTOR_BYTES, SERVO_BITS = 64, 8, 10
#: The velocity at which an active damper takes its share of the force: the access velocity of a first generation.
DAMPED_AT_M_S = 0.02
#: The width of bits that a tip's power is given for.
CHANNEL_AT_NM = 50.0
#: Check bits that a BCH code takes for each bit that it corrects in a tip sector of up to 127 bits.
CHECK_BITS = 7
LONGEST_CODE_BITS = 127


@dataclass(frozen=True)
class Relations:
    """The quantities that follow from a drawing.

    Parameters
    ----------
    drawing
        The drawing, with all its values.
    """

    drawing: Drawing

    @cached_property
    def sled_side_m(self) -> float:
        """Side of a sled: its square of the die less the frame; schlosser2000, section 2.4: sleds cost area."""
        die = self.drawing
        return math.sqrt(die.die_area_mm2 / die.sleds) * 1e-3 - 2e-3 * die.frame_mm

    @cached_property
    def mass_kg(self) -> float:
        """Mass of a sled: its volume times its density."""
        return self.sled_side_m**2 * self.drawing.sled_thickness_um * 1e-6 * self.drawing.sled_density_kg_m3

    @cached_property
    def acceleration_m_s2(self) -> float:
        """Acceleration: force over mass (schlosser2000, section 2.3)."""
        return self.drawing.actuator_mn * 1e-3 / self.mass_kg

    @cached_property
    def spring_factor(self) -> float:
        """Force of the springs at the end of travel over the actuator's (schlosser2000, section 2.1)."""
        return self.drawing.spring_n_m * self.drawing.travel_um * 1e-6 / 2 / (self.drawing.actuator_mn * 1e-3)

    @cached_property
    def resonance_hz(self) -> float:
        """Resonance of the mass on its springs; that the control stiffens it as it settles is an assumption."""
        stiffness = self.drawing.spring_n_m + self.drawing.servo_stiffness_n_m
        return math.sqrt(stiffness / self.mass_kg) / (2 * math.pi)

    @cached_property
    def settle_s(self) -> float:
        """Time until the oscillation is below its share of a bit (schlosser2000, section 2.1, footnote).

        It decays by 2 pi f (griffin1999, equation 3) and by what the actuator damps, an assumption.
        """
        left = self.drawing.settled_fraction * self.drawing.bit_nm
        rate = 2 * math.pi * self.resonance_hz + self.drawing.active_damping * self.acceleration_m_s2 / DAMPED_AT_M_S
        return max(0.0, math.log(self.drawing.ring_nm / left)) / rate

    @cached_property
    def settle_constants(self) -> float:
        """Settling in time constants of the resonance (griffin1999, equation 3)."""
        return self.settle_s * 2 * math.pi * self.resonance_hz

    @cached_property
    def access_m_s(self) -> float:
        """Velocity of access."""
        return self.drawing.access_mm_s * 1e-3

    @cached_property
    def braking_m_s2(self) -> float:
        """Acceleration at the end of travel, towards the centre: actuator and springs (schlosser2000, section 2.4)."""
        return self.acceleration_m_s2 * (1 + self.spring_factor)

    @cached_property
    def run_out_m(self) -> float:
        """Way in which the sled stops from access velocity at either end of travel, v²/2a (schlosser2000, 2.4)."""
        return self.access_m_s**2 / (2 * self.braking_m_s2)

    @cached_property
    def y_range_m(self) -> float:
        """Travel along Y less a run-out at either end, and no more than the pitch of tips."""
        return min(self.drawing.travel_um, self.drawing.tip_pitch_um) * 1e-6 - 2 * self.run_out_m

    @cached_property
    def x_range_m(self) -> float:
        """Travel along X, of which no more than the pitch of tips is of use."""
        return min(self.drawing.travel_um, self.drawing.tip_pitch_um) * 1e-6

    @cached_property
    def tips(self) -> float:
        """Tips under a sled that work: its area over the square of their pitch, less those that failed."""
        under = (self.sled_side_m / (self.drawing.tip_pitch_um * 1e-6)) ** 2
        return under * (1 - self.drawing.failed_tips_fraction)

    @cached_property
    def bit_rate_hz(self) -> float:
        """Bits that pass a tip in a second (griffin1999, section 4.1)."""
        return self.access_m_s / (self.drawing.bit_nm * 1e-9)

    @cached_property
    def encoded_bits_per_byte(self) -> int:
        """Bits for each byte of a BCH code that leaves no more sectors uncorrected than allowed; 65 where none does.

        That errors are independent is an assumption; that more of them take more bits is schlosser2000, section 2.4.
        """
        for corrected in range((LONGEST_CODE_BITS - 8 * TIP_SECTOR_BYTES) // CHECK_BITS + 1):
            bits = 8 * TIP_SECTOR_BYTES + CHECK_BITS * corrected
            if _more_than(corrected, bits, self.drawing.bit_error_rate) <= self.drawing.uncorrected_rate:
                return math.ceil(bits / TIP_SECTOR_BYTES)
        return LONGEST_CODE_BITS

    @cached_property
    def sector_bits(self) -> int:
        """Bits of a tip sector on the media, its servo burst included (griffin1999, Table 1)."""
        return TIP_SECTOR_BYTES * self.encoded_bits_per_byte + SERVO_BITS

    @cached_property
    def capacity_bytes(self) -> float:
        """Room for data on the die: bits that all tips reach, in tip sectors."""
        bit_m = self.drawing.bit_nm * 1e-9
        sectors = (self.y_range_m / bit_m - SERVO_BITS) / self.sector_bits
        return self.drawing.sleds * self.tips * self.x_range_m / bit_m * sectors * TIP_SECTOR_BYTES

    @cached_property
    def turnaround_s(self) -> float:
        """Time in which the sled reverses at an end of travel: 2v/a (griffin1999, equation 5), springs included."""
        return 2 * self.access_m_s / self.braking_m_s2

    @cached_property
    def pass_s(self) -> float:
        """Time of a pass over the whole travel along Y, and the turnaround after it."""
        return self.y_range_m / self.access_m_s + self.turnaround_s

    @cached_property
    def bandwidth_bytes_s(self) -> float:
        """Bandwidth of long reads in whole passes, over the die (schlosser2000, section 2.4); servo bits taken off.

        A sled that reads in one direction only passes back at the same velocity.
        """
        sectors = (self.y_range_m / (self.drawing.bit_nm * 1e-9) - SERVO_BITS) / self.sector_bits
        passes = 1 if self.drawing.bidirectional else 2
        return self.drawing.active_tips * sectors * TIP_SECTOR_BYTES / (passes * self.pass_s)

    @cached_property
    def seek_x_s(self) -> float:
        """Seek along X over a third of the travel, without springs, settling included (griffin1999, equation 2)."""
        return 2 * math.sqrt(self.x_range_m / 3 / self.acceleration_m_s2) + self.settle_s

    @cached_property
    def tip_w(self) -> float:
        """Power of an active tip: signal processing by the width of bits (schlosser2000, section 2.4).

        The exponent is an assumption.
        """
        width = CHANNEL_AT_NM / self.drawing.bit_nm
        return self.drawing.channel_mw * 1e-3 * math.pow(width, self.drawing.channel_exponent)

    @cached_property
    def sled_w(self) -> float:
        """Power of a sled's positioning: standing, and the kinetic energy that each turnaround takes from the driver.

        That velocity takes power is schlosser2000, section 2.4; the driver's efficiency is an assumption.
        """
        turning = self.mass_kg * self.access_m_s**2 / 2 / self.drawing.driver_efficiency / self.pass_s
        return self.drawing.standing_mw * 1e-3 + turning

    @cached_property
    def power_w(self) -> float:
        """Power of the die that accesses data with all the tips that may."""
        return self.drawing.sleds * self.sled_w + self.drawing.active_tips * self.tip_w

    @cached_property
    def byte_j(self) -> float:
        """Energy of the tips for a byte of data, check and servo bits included (schlosser2000, section 2.4)."""
        return self.tip_w / self.bit_rate_hz * self.sector_bits / TIP_SECTOR_BYTES

    @cached_property
    def shock_g(self) -> float:
        """Steady acceleration from outside against which actuator and springs keep the fingers apart, in g.

        That force, mass and springs decide it is schlosser2000, section 2.4; that the shock is steady, an assumption.
        """
        way_m = (self.drawing.travel_um / 2 + self.drawing.finger_gap_um) * 1e-6
        held_n = self.drawing.actuator_mn * 1e-3 + self.drawing.spring_n_m * way_m
        return held_n / self.mass_kg / GRAVITY_M_S2


def _more_than(errors: int, bits: int, rate: float) -> float:
    """Return the probability of more errors than so many in bits that are wrong independently."""
    return math.fsum(
        math.comb(bits, k) * math.pow(rate, k) * math.pow(1 - rate, bits - k) for k in range(errors + 1, bits + 1)
    )
