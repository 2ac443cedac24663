"""What a full run of the papers' claims found, as docs/reference/claims.md needs it of the run's verdicts.json.

A full run takes up to an hour, so that the page is not written from one each time: what it found is recorded in
full_run.json, and set beside what a quick run finds whenever the page is written or checked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from sledsim_papers.harness.finding import Finding
from sledsim_papers.harness.ledger import Verdict, claims
from sledsim_papers.harness.wording import ours_text

RECORD = Path(__file__).with_name("full_run.json")


class FullAnswer(BaseModel):
    """What came of a claim."""

    model_config = ConfigDict(frozen=True)

    name: str
    verdict: Verdict
    ours: float | str | tuple[float, ...] | tuple[str, ...] | None = None
    decimals: int = 3
    intervals: tuple[tuple[float, float], ...] = ()

    @property
    def text(self) -> str:
        """What was found, as the page has it."""
        if self.ours is None:
            return "–"
        return ours_text(self.ours, Finding(self.ours, "", decimals=self.decimals, intervals=self.intervals))


class FullRun(BaseModel):
    """What came of all claims: some of the keys of verdicts.json."""

    model_config = ConfigDict(frozen=True)

    sledsim: str
    mode: Literal["full"]
    complete: Literal[True]
    claims: tuple[FullAnswer, ...]


def read(path: Path = RECORD) -> FullRun:
    """Return what a full run found: that of verdicts.json or of the record."""
    try:
        run = FullRun.model_validate_json(path.read_bytes())
    except OSError as error:
        raise SystemExit(f"{path}: {error.strerror}") from None
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
        raise SystemExit("\n".join([f"{path} is not the verdicts.json of a whole full run:", *wrong])) from None
    if [each.name for each in run.claims] != [*claims()]:
        raise SystemExit(f"{path} is not about the claims of the ledger, each once and in its order")
    return run


def record(run: FullRun) -> None:
    """Keep what a full run found."""
    lines = ",\n".join(each.model_dump_json() for each in run.claims)
    head = run.model_dump_json(exclude={"claims"}).removesuffix("}")
    RECORD.write_text(f'{head},"claims":[\n{lines}\n]}}\n', encoding="utf-8")
