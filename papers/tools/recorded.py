"""Recorded outcomes of the claims: papers/records/quick.json and full.json, and verdicts by seed in seeds.json.

A record holds each claim's verdict and figures. The pages of docs/papers and the tests compare with it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from sledsim_papers.harness.claim import Verdict, claims
from sledsim_papers.harness.finding import Finding
from sledsim_papers.harness.wording import ours_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["RECORDS", "Mode", "Outcome", "Record", "read", "read_seeds", "update", "update_seeds", "write"]

RECORDS = Path(__file__).parents[1] / "records"
Mode = Literal["quick", "full"]


class Outcome(BaseModel):
    """The verdict and the figures of a claim."""

    model_config = ConfigDict(frozen=True)

    name: str
    verdict: Verdict
    ours: float | str | tuple[float, ...] | tuple[str, ...] | None = None
    decimals: int = 3
    intervals: tuple[tuple[float, float], ...] = ()

    @property
    def text(self) -> str:
        """The figures with their confidence intervals; a dash if there are none."""
        if self.ours is None:
            return "–"
        return ours_text(self.ours, Finding(self.ours, "", decimals=self.decimals, intervals=self.intervals))


class Record(BaseModel):
    """The outcomes of all claims in one run, a subset of its verdicts.json."""

    model_config = ConfigDict(frozen=True)

    sledsim: str
    mode: Mode
    complete: Literal[True]
    claims: tuple[Outcome, ...]

    def of(self, paper: str) -> tuple[Outcome, ...]:
        """Return the outcomes of a paper's claims.

        Parameters
        ----------
        paper
            Name of the paper.
        """
        return tuple(each for each in self.claims if each.name.startswith(f"{paper}."))


def read(mode: Mode, path: Path | None = None) -> Record:
    """Return the outcomes in a file.

    Parameters
    ----------
    mode
        Kind of run that the outcomes must be from.
    path
        A record or a verdicts.json; the record of this kind of run if not given.
    """
    path = path or RECORDS / f"{mode}.json"
    try:
        run = Record.model_validate_json(path.read_bytes())
    except OSError as error:
        raise SystemExit(f"{path}: {error.strerror}") from None
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
        raise SystemExit("\n".join([f"{path} is not the verdicts.json of a complete run:", *wrong])) from None
    if run.mode != mode:
        raise SystemExit(f"{path} is from a {run.mode} run, not from a {mode} one")
    if [each.name for each in run.claims] != [*claims()]:
        raise SystemExit(f"{path} does not list every claim once, in the order of the papers")
    return run


def write(run: Record) -> None:
    """Write a record, one claim a line.

    Parameters
    ----------
    run
        The outcomes of a run.
    """
    lines = ",\n".join(each.model_dump_json() for each in run.claims)
    head = run.model_dump_json(exclude={"claims"}).removesuffix("}")
    (RECORDS / f"{run.mode}.json").write_text(f'{head},"claims":[\n{lines}\n]}}\n', encoding="utf-8")


def update(run: Record) -> None:
    """Replace the outcomes of some claims in a record, and add those of new claims.

    Parameters
    ----------
    run
        The outcomes of a run of these claims.
    """
    before = Record.model_validate_json((RECORDS / f"{run.mode}.json").read_bytes())
    found = {each.name: each for each in (*before.claims, *run.claims)}
    listed = tuple(found[name] for name in claims() if name in found)
    write(run.model_copy(update={"claims": listed}))


def read_seeds() -> dict[str, tuple[Verdict, ...]]:
    """Return the recorded verdicts with each seed by the names of claims."""
    path = RECORDS / "seeds.json"
    if not path.exists():
        return {}
    return {name: tuple(verdicts) for name, verdicts in json.loads(path.read_text(encoding="utf-8")).items()}


def update_seeds(found: Mapping[str, Sequence[Verdict]]) -> None:
    """Replace the recorded verdicts with each seed of some claims.

    Parameters
    ----------
    found
        Verdicts by the names of claims.
    """
    merged = {**read_seeds(), **found}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps([*merged[name]])}" for name in claims() if name in merged)
    (RECORDS / "seeds.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
