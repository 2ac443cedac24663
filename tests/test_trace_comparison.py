"""One trace on several devices and schedulers: `sledsim.compare` with devices, and `sledsim replay`."""

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sledsim
from conftest import Outcome
from sledsim import SledsimError

#: Service time of simpledisk-constant, ms.
SERVICE_MS = 0.88


@pytest.fixture
def poisson(tmp_path: Path) -> Callable[..., Path]:
    """Write a trace of reads with exponential gaps between arrivals."""

    def write(rate_per_s: float, requests: int = 20_000, last_block: int = 1_000_000) -> Path:
        stream = np.random.default_rng(7)
        times_ns = np.cumsum(stream.exponential(1e9 / rate_per_s, requests)).astype(np.int64)
        offsets = 512 * stream.integers(0, last_block, requests)
        path = tmp_path / "poisson.csv"
        rows = "\n".join(f"{t},0,{offset},512,R" for t, offset in zip(times_ns, offsets, strict=True))
        path.write_text(f"t_ns,device,offset_bytes,bytes,op\n{rows}\n")
        return path

    return write


@pytest.mark.parametrize(("load", "keeps_up"), [(0.9, True), (1.1, False), (3.0, False)])
def test_a_saturated_device_is_recognised(poisson: Callable[..., Path], load: float, keeps_up: bool) -> None:
    trace = poisson(load * 1e3 / SERVICE_MS)
    comparison = sledsim.compare(trace, devices=["simpledisk-constant"])
    (constant,) = comparison.combinations
    assert constant.keeps_up == keeps_up
    assert (comparison.best is constant) == keeps_up
    assert ("simpledisk-constant, fcfs: cannot keep up" in str(comparison)) == (not keeps_up)
    if keeps_up:
        # The mean response of an M/D/1 queue.
        mean_ms = SERVICE_MS * (1 + load / (2 * (1 - load)))
        assert constant.mean_ms == pytest.approx(mean_ms, rel=0.15)


def test_the_margin_is_the_mean_difference_of_paired_requests(poisson: Callable[..., Path]) -> None:
    comparison = sledsim.compare(poisson(300), devices=["g2", "g3"], schedulers="sptf")
    best = comparison.best
    assert best is not None
    assert best.device == "g3"
    slower, faster = comparison["g2", "sptf"], comparison["g3", "sptf"]
    margin = comparison.margin(comparison.combinations[0])
    assert margin is not None
    assert margin.mean == pytest.approx(slower.response.mean_ms - faster.response.mean_ms, rel=1e-9)
    assert 0 < margin.low < margin.mean < margin.high
    # The load is common to both, so the interval of the difference is shorter than that of a mean.
    assert margin.high - margin.low < slower.response.ci95_high_ms - slower.response.ci95_low_ms
    assert comparison.verdict().startswith("lowest mean response: g3, sptf: ")


def test_small_and_no_differences_have_no_winner(poisson: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "same.toml").write_text('base = "g2"\n')
    trace = poisson(100)
    equal = sledsim.compare(trace, devices=["g2", str(tmp_path / "same.toml")])
    assert equal.verdict() == "lowest mean response: g2, fcfs, equal to same, fcfs"
    assert "may be chance" in sledsim.compare(trace, devices="g3", schedulers=["fcfs", "look"]).verdict()


def test_a_device_that_is_too_small_has_a_row_without_figures(poisson: Callable[..., Path]) -> None:
    trace = poisson(100, requests=400, last_block=10_000_000)
    comparison = sledsim.compare(trace, devices=["g2", "superdisk"])
    small, large = comparison.combinations
    assert small.result is None
    assert large.keeps_up
    assert "beyond" in str(small.error)
    assert comparison.table().rows[0][:2] == ["g2, fcfs", "too small"]
    # 10,000,000 blocks of 512 bytes; both schedulers have one note.
    notes = sledsim.compare(trace, devices=["g2", "superdisk"], schedulers=["fcfs", "sptf"]).table().notes
    [note] = (note for note in notes if note.startswith("too small"))
    assert note.startswith("too small: g2 (3.456 GB); the trace needs at least 5.1")
    with pytest.raises(SledsimError, match="beyond"):
        sledsim.compare(trace, devices=["g2", "g1"])
    assert all(each.result for each in sledsim.compare(trace, devices=["g2", "g3"], fit="scale").combinations)


def test_replay_compares_lists_of_devices_and_schedulers(
    poisson: Callable[..., Path], tmp_path: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    trace = poisson(300, requests=2000)
    several = ("--device", "g2,g3", "--device", "atlas10k", "--scheduler", "fcfs,sptf")
    shown = sledsim_cli("replay", trace, *several, "--plot", tmp_path / "lines.json")
    assert shown.status == 0, shown.err
    assert "keeps up" in shown.out
    assert "lowest mean response: g3" in shown.out
    assert "assumed: format csv" in shown.out
    assert json.loads((tmp_path / "lines.json").read_text())["mark"]
    found = json.loads(sledsim_cli("replay", trace, *several, "--json").out)
    assert [(each["device"], each["scheduler"]) for each in found["combinations"]][:3] == [
        ("g2", "fcfs"),
        ("g2", "sptf"),
        ("g3", "fcfs"),
    ]
    assert found["best"]["device"] == "g3"
    default = sledsim_cli("replay", trace)
    assert default.status == 0
    assert all(name in default.out for name in ("g2", "g3", "travelstar"))
    refused = sledsim_cli("replay", trace, "--device", "g2,g3", "--log", tmp_path / "x.csv")
    assert (refused.status, "needs one --device" in refused.err) == (2, True)


def test_traces_of_several_tools_are_compared_in_one_command(
    tmp_path: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    fio = tmp_path / "recorded.iolog"
    requests = [f"{440 + 100_050 * i} f.dat {'read' if i % 2 else 'write'} {i * 8192} 4096\n" for i in range(40)]
    fio.write_text("fio version 3 iolog\n22 f.dat add\n428 f.dat open\n" + "".join(requests))
    table = tmp_path / "blocks.csv"
    rows = [f"{i / 100},{'r' if i % 3 else 'w'},{i * 7919 % 40_000 * 8},8\n" for i in range(40)]
    table.write_text("when,kind,where,count\n" + "".join(rows))
    blktrace = tmp_path / "recorded"
    blktrace.mkdir()
    for cpu in (0, 1):
        # Magic, sequence, time, sector, bytes, action (queued read), process, device, processor, error, data bytes.
        events = (
            struct.pack(
                "<IIQQ5I2H", 0x65617407, i, i * 10_000_000, i * 7919 % 40_000 * 8, 4096, 0x110001, 9, 1 << 23, cpu, 0, 0
            )
            for i in range(cpu, 40, 2)
        )
        (blktrace / f"sda.blktrace.{cpu}").write_bytes(b"".join(events))
    columns = ["time=when", "time_unit=s", "offset=where", "bytes=count", "length_unit=sectors", "op=kind"]
    commands = {
        fio: ([], "times in us, addresses in bytes"),
        blktrace: ([], "times in ns, addresses in sectors of 512"),
        table: ([word for each in columns for word in ("--column", each)], "times in s, addresses in sectors of 512"),
    }
    for path, (options, assumed) in commands.items():
        shown = sledsim_cli("replay", path, "--device", "g2,ultrastar36z15", "--scheduler", "fcfs,sptf", *options)
        assert shown.status == 0, shown.err
        assert f"trace {path.name} · 40 requests" in shown.out
        assert [line.split()[2] for line in shown.out.splitlines()[3:7]] == ["yes"] * 4
        assert assumed in shown.out
        assert "sled at rest in the centre and platter at angle 0 at the first arrival" in shown.out


def test_every_replay_prints_its_assumptions(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    formats = {
        "msr.csv": ("128166372003061629,usr,0,Read,4096,512,41\n", "times in ticks of 100 ns, addresses in bytes"),
        "spc.txt": ("0,8,4096,R,0.5\n", "times in s, offsets in sectors of 512 bytes, lengths in bytes"),
        "events.txt": (
            "  8,0 0 1 0.000000000 100 Q R 2048 + 8 [app]\n",
            "times in s, addresses in sectors of 512 bytes",
        ),
        "disk.ascii": ("0.5 0 100 8 1\n", "times in ms, addresses in sectors of 512 bytes"),
        "list.lis": ("0 1 0 0\n", "addresses in blocks, which are sectors of 512 bytes"),
        "v2.iolog": ("fio version 2 iolog\nf add\nf open\nf read 0 4096\n", "addresses in bytes"),
    }
    for name, (content, units) in formats.items():
        path = tmp_path / name
        path.write_text(content)
        shown = sledsim_cli("replay", path, "--device", "g2")
        assert shown.status == 0, shown.err
        (line,) = (line for line in shown.out.splitlines() if line.startswith("assumed: "))
        assert f"{units}, addresses unchanged, " in line
        assert line.endswith(", sled at rest in the centre at the first arrival")
        mode = "closed: 1 request outstanding" if name in ("list.lis", "v2.iolog") else "open: arrivals as recorded"
        assert mode in line
    path = tmp_path / "spc.txt"
    shown = sledsim_cli("replay", path, "--device", "g2", "--mode", "outstanding", "--outstanding", "4")
    assert "closed: 4 requests outstanding" in shown.out
    frame = {"t_s": np.array([0.0, 0.5]), "lba": np.array([8, 16]), "bytes": np.array([512, 512]), "op": ["R", "W"]}
    result = sledsim.replay(frame, "g2")
    assert "format csv (its columns), times in s, offsets in sectors of 512 bytes, lengths in bytes" in str(
        result.brief()
    )


def test_devices_without_powers_say_so(poisson: Callable[..., Path], sledsim_cli: Callable[..., Outcome]) -> None:
    trace = poisson(50, requests=400)
    says = "energy is not modelled"
    for options in (("--device", "superdisk"), ("--device", "superdisk", "--full"), ("--device", "superdisk,g2")):
        assert says in sledsim_cli("replay", trace, *options).out
    for options in (("--device", "g2"), ("--device", "g2", "--full"), ("--device", "g2,g3")):
        assert says not in sledsim_cli("replay", trace, *options).out
    runs = [sledsim.replay(trace, device) for device in ("superdisk", "g2")]
    assert f"{says}: superdisk, fcfs" in str(sledsim.compare(runs))


def test_a_replay_to_its_end_is_not_told_to_run_longer(poisson: Callable[..., Path]) -> None:
    for rate_per_s in (0.9e3 / SERVICE_MS, 1.1e3 / SERVICE_MS, 3e3 / SERVICE_MS):
        brief = str(sledsim.replay(poisson(rate_per_s, requests=1000), "simpledisk-constant").brief())
        assert "longer run" not in brief


def test_a_suggestion_replaces_the_short_form_of_an_option(
    poisson: Callable[..., Path], sledsim_cli: Callable[..., Outcome]
) -> None:
    trace = poisson(100, requests=400, last_block=10_000_000)
    for typed in (["-d", "g2"], ["-dg2"], ["--device", "g2"], ["--device=g2"]):
        message = sledsim_cli("replay", trace, *typed).err
        [larger] = (line for line in message.splitlines() if "--device g3" in line)
        assert larger.split() == ["sledsim", "replay", str(trace), "--device", "g3"]


def test_an_option_that_replay_lacks_names_the_setting(
    poisson: Callable[..., Path], sledsim_cli: Callable[..., Outcome]
) -> None:
    refused = sledsim_cli("replay", poisson(100, requests=4), "--sector-bytes", "512")
    assert (refused.status, "write --set workload.sector_bytes=VALUE" in refused.err) == (2, True)
