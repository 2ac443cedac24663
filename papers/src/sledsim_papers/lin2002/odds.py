"""Where Lin et al. 2002 is at odds with itself."""

from sledsim_papers.harness.odds import Side, at_odds

__all__: list[str] = []

#: Section 4.1: what the sled draws in motion and stopped, W, and how long it starts, s.
MOVING_W, STOPPED_W, START_S = 0.1, 0.05, 0.5e-3
#: Table 1, Snake: joules inactive, idle, and in servicing.
INACTIVE_J, IDLE_J, SERVICING_J = 153.4, 198.07, 10.37

at_odds(
    "lin2002.startup-energy",
    Side("Table 1", "printed", (5e-5,), "J"),
    Side("section 4.1", "100 mW × 0.5 ms", (MOVING_W * START_S,), "J"),
    Side("section 5.1", "printed", (1e-5,), "J"),
)
at_odds(
    "lin2002.break-even",
    Side("section 5.1", "printed, as the time of a start", (50.0,), "ms"),
    Side("section 4.1, the time of a start", "printed", (1e3 * START_S,), "ms"),
    Side(
        "section 4.1, where stopping begins to save",
        "100 mW × 0.5 ms / (100 mW - 50 mW)",
        (1e3 * MOVING_W * START_S / (MOVING_W - STOPPED_W),),
        "ms",
    ),
)
at_odds(
    "lin2002.snake-inactive",
    Side("section 4.2", "a day ten times faster, 86,400 s / 10", (8640.0,), "s"),
    Side(
        "Table 1 with section 4.1",
        "153.4 J / 50 mW + 198.07 J / 100 mW + 10.37 J / 100 mW, at the most",
        (INACTIVE_J / STOPPED_W + (IDLE_J + SERVICING_J) / MOVING_W,),
        "s",
    ),
)
at_odds(
    "lin2002.subsector-metadata",
    Side("section 6.3", "printed, of the mix taken for the most realistic", (33.0, 40.0), "%"),
    Side("section 8", "printed, as a lower end", (40.0,), "%"),
)
