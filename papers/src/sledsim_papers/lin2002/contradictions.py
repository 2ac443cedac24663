"""Statements in which Lin et al. 2002 contradicts itself."""

from sledsim_papers.harness.contradictions import Statement, contradiction

__all__: list[str] = []

#: Section 4.1: what the sled draws in motion and stopped, W, and how long it starts, s.
MOVING_W, STOPPED_W, START_S = 0.1, 0.05, 0.5e-3
#: Table 1, Snake: joules inactive, idle, and in servicing.
INACTIVE_J, IDLE_J, SERVICING_J = 153.4, 198.07, 10.37

contradiction(
    "lin2002.startup-energy",
    Statement("Table 1", "printed", (5e-5,), "J"),
    Statement("section 4.1", "100 mW × 0.5 ms", (MOVING_W * START_S,), "J"),
    Statement("section 5.1", "printed", (1e-5,), "J"),
)
contradiction(
    "lin2002.break-even",
    Statement("section 5.1", "printed, as the time of a start", (50.0,), "ms"),
    Statement("section 4.1, the time of a start", "printed", (1e3 * START_S,), "ms"),
    Statement(
        "section 4.1, where stopping begins to save",
        "100 mW × 0.5 ms / (100 mW - 50 mW)",
        (1e3 * MOVING_W * START_S / (MOVING_W - STOPPED_W),),
        "ms",
    ),
)
contradiction(
    "lin2002.snake-inactive",
    Statement("section 4.2", "a day ten times faster, 86,400 s / 10", (8640.0,), "s"),
    Statement(
        "Table 1 with section 4.1",
        "153.4 J / 50 mW + 198.07 J / 100 mW + 10.37 J / 100 mW, at the most",
        (INACTIVE_J / STOPPED_W + (IDLE_J + SERVICING_J) / MOVING_W,),
        "s",
    ),
)
contradiction(
    "lin2002.subsector-metadata",
    Statement("section 6.3", "printed, of the mix taken for the most realistic", (33.0, 40.0), "%"),
    Statement("section 8", "printed, as a lower end", (40.0,), "%"),
)
