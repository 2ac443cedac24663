"""A device, a workload, an answer, a picture: the steps of a notebook, each a cell.

    workload ──▶ drive: scheduler fcfs or sptf + device g2

Run it as a script (``python examples/explore.py [FOLDER]``), or cell by cell in an editor that knows ``# %%``.
"""

# %% What is the device like?
import sys
from pathlib import Path

import sledsim

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("out")
folder.mkdir(parents=True, exist_ok=True)

g2 = sledsim.Device("g2")
print(f"{g2.name}: {g2.capacity_bytes / 1e9:.2f} GB, {g2.streaming_bandwidth_mb_s:.0f} MB/s")
print(f"Every move along X ends with {g2.settle_ms:.3f} ms of settling.")
print(f"Blocks that can be read together with block 0: {len(g2.equivalent(0))}")
g2.save_plot(folder / "seek-curve.html")
g2.save_plot(folder / "seek-surface.html", "surface")

# %% How does it serve random requests, and what does a better scheduler bring?
scenario = {
    "workload": {"read_fraction": 0.67, "arrival": {"kind": "poisson", "rate_per_s": 1200.0}},
    "system": {"device": "g2"},
    "run": {"requests": 20_000, "warmup_requests": 1_000},
}
runs = {name: sledsim.run(scenario, overrides={"scheduler": name}, log=True) for name in ("fcfs", "look", "sptf")}
comparison = sledsim.compare(runs)
print(comparison)
comparison.save_plot(folder / "schedulers.html")
runs["sptf"].save_plot(folder / "response.html")

# %% What do the slowest requests have in common? Every request is a row, and DuckDB asks the questions.
slowest = runs["sptf"].relation().order("end_ns - arrival_ns DESC").limit(200)
print(
    slowest.aggregate(
        "avg(wait_ns) / 1e6 AS wait_ms, avg(seek_ns) / 1e6 AS seek_ms, avg(transfer_ns) / 1e6 AS transfer_ms"
    )
)

# %% What if settling took no time?
quick = sledsim.run(scenario, overrides={"scheduler": "sptf", "device.settle_constants": 0})
ratio = quick.response.mean_ms / runs["sptf"].response.mean_ms
print(f"Without settling the mean response is {ratio:.2f} times that with it.")
