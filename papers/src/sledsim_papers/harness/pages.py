"""Writes the report: an overview, a page for each paper, and files with charts, scenarios and verdicts."""

import json
import shutil
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sledsim import SledsimError, __version__
from sledsim.report import caption_of, definition_of, page_environment, write_chart, write_library
from sledsim.show import Table, make_error, need, write_atomically
from sledsim_papers.harness.claim import VERDICTS, motion, set_ups, title
from sledsim_papers.harness.finding import Finding
from sledsim_papers.harness.overview import COUNTED, counts_row
from sledsim_papers.harness.registry import Drawn, Picture
from sledsim_papers.harness.reproduction import Answer, Redrawn, Reproduction
from sledsim_papers.harness.stand_ins import stand_ins
from sledsim_papers.harness.verdicts import verdicts
from sledsim_papers.harness.wording import (
    WORK,
    command_text,
    fewer_seeds_text,
    other_text,
    ours_text,
    published_text,
    rests_text,
    time_optimal_text,
    work_text,
)

__all__ = ["Pages"]

#: File with Vega, Vega-Lite and Vega-Embed.
LIBRARY = "vega.js"
#: Folder of a report that is being written, inside that of the report.
UNFINISHED = ".unfinished"
#: Significant digits in tables of curves.
DIGITS = 5

#: Variables of a template.
Context = dict[str, Any]


class Pages:
    """Writes the report into a folder.

    Parameters
    ----------
    folder
        The folder; created if missing. Files are written into a hidden folder inside it and moved at the end, so that
        a killed command leaves the earlier report as it was.

    Raises
    ------
    SledsimError
        If it cannot be created, or a library for drawing is missing.
    """

    def __init__(self, folder: Path) -> None:
        for package in ("altair", "vl_convert", "jinja2"):
            need(package, "plots")
        self._target = folder
        self.folder = folder / UNFINISHED
        # Loaded early, because little time is left for writing after Ctrl-C.
        templates = page_environment(__package__, "sledsim.report")
        self._overview, self._page = (templates.get_template(f"{name}.html.jinja") for name in ("overview", "paper"))
        self._lock = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Left by a report that was killed.
            shutil.rmtree(self.folder, ignore_errors=True)
            for name in ("charts", "scenarios"):
                (self.folder / name).mkdir(parents=True)
        except OSError as error:
            message = f"can't be a folder for the report: {error.strerror}"
            raise make_error(SledsimError, "unreadable", message, file=folder) from None

    def export(self, picture: Picture, drawn: Drawn) -> None:
        """Write the files of a chart; may be called from any thread.

        Parameters
        ----------
        picture
            The figure.
        drawn
            The chart.
        """
        if isinstance(drawn.shown, Table):
            return
        write_chart(drawn.shown, self.folder / "charts" / picture.stem)
        with self._lock:
            if not (self.folder / LIBRARY).exists():
                write_library(self.folder / LIBRARY)

    def write(self, found: Reproduction) -> None:
        """Write the pages, the scenarios and the verdicts.

        Parameters
        ----------
        found
            The outcomes; their charts have been exported.
        """
        write_atomically(self.folder / "verdicts.json", _json(verdicts(found)) + "\n")
        papers = [self._paper(found, paper) for paper in found.papers()]
        shared = {
            "version": __version__,
            "quick": found.quick,
            "complete": found.complete,
            "papers": papers,
            "reproduced": found.count()["reproduced"],
            "simulated": found.simulated(),
        }
        text = self._overview.render(
            **shared,
            paper=None,
            counted=COUNTED,
            verdicts=VERDICTS,
            totals=counts_row(found, None),
            filters=_filters(papers),
            library=None,
        )
        write_atomically(self.folder / "index.html", text)
        for paper in papers:
            charts = any(figure["definition"] for figure in paper["figures"])
            library = LIBRARY if charts else None
            text = self._page.render(**shared, paper=paper, filters=_filters([paper]), library=library)
            write_atomically(self.folder / f"{paper['id']}.html", text)
        self._publish()

    def _publish(self) -> None:
        """Move the files of the report to their places, the overview last."""
        files = [path.relative_to(self.folder) for path in self.folder.rglob("*") if path.is_file()]
        for file in sorted(files, key=lambda file: file == Path("index.html")):
            target = self._target / file
            target.parent.mkdir(parents=True, exist_ok=True)
            (self.folder / file).replace(target)
        shutil.rmtree(self.folder)

    def _paper(self, found: Reproduction, paper: str) -> Context:
        """Return the template variables of a paper."""
        shown = [each for each in found.redrawn if each.picture.paper == paper]
        return {
            "id": paper,
            "title": title(paper),
            "motion": motion(paper),
            "totals": counts_row(found, paper),
            "claims": [self._claim(answer, found) for answer in found.answers if answer.claim.paper == paper],
            "figures": [self._figure(each) for each in shown if each.picture.draw],
            "sketches": [each.picture for each in shown if not each.picture.draw],
            "stand_ins": stand_ins(found, paper),
        }

    def _claim(self, answer: Answer, found: Reproduction) -> Context:
        """Write the scenarios of a claim and return its template variables."""
        claim, finding = answer.claim, answer.finding
        context: Context = {
            "claim": claim,
            "what": _sentence(claim.what),
            "verdict": answer.verdict,
            "rests_on": rests_text(claim),
            "published": published_text(claim),
            "ours": ours_text(finding.ours, finding) if finding else "–",
            "time_optimal": time_optimal_text(answer.time_optimal, finding),
            "seconds": f"{answer.seconds:.1f}",
            "command": command_text(claim, quick=found.quick),
            "reason": answer.reason,
            "answer": answer,
            "fewer_seeds": fewer_seeds_text(answer.seeds, answer.probe_seeds),
            "finding": finding,
            "unit": claim.unit,
            "other": other_text(claim),
            "set_ups": [set_ups(claim.paper)[each] for each in claim.set_up],
            "data": claim.data.partition(":")[0],
            "work": work_text(finding) if finding else "",
        }
        if finding:
            context["probes"] = [
                (each.change, ours_text(each.ours, finding, intervals=False)) for each in finding.probes
            ]
            context["curve"] = _curve(finding)
            context["scenarios"] = self._scenarios(claim.name, finding.scenarios)
        return context

    def _figure(self, redrawn: Redrawn) -> Context:
        """Write the scenarios of a figure and return its template variables."""
        picture, drawn = redrawn.picture, redrawn.drawn
        context: Context = {"picture": picture, "drawn": drawn, "reason": redrawn.reason, "definition": None}
        context["title"] = _sentence(picture.title)
        if drawn is None:
            return context
        context["how"] = " ".join(filter(None, (_sentence(drawn.how), fewer_seeds_text(redrawn.seeds))))
        context["scenarios"] = self._scenarios(picture.stem, drawn.scenarios)
        if isinstance(drawn.shown, Table):
            return context | {
                "table": drawn.shown,
                "caption": [_sentence(drawn.shown.title)] if drawn.shown.title else [],
            }
        definition = definition_of(drawn.shown, f"{picture.where}: {picture.title}")
        caption = [_sentence(line) for line in caption_of(drawn.shown) if line.rstrip(".") not in drawn.how]
        return context | {"definition": definition, "caption": caption}

    def _scenarios(self, name: str, scenarios: Iterable[Mapping[str, Any]]) -> list[Context]:
        """Write scenarios as files; return their paths and the commands that run them."""
        written = []
        several = list(scenarios)
        for index, scenario in enumerate(several, 1):
            simulated = "workload" in scenario
            number_of = f"-{index}" if len(several) > 1 else ""
            path = Path("scenarios") / f"{name}{number_of}.json"
            text = _json({"seed": 1, **scenario} if simulated else scenario)
            write_atomically(self.folder / path, text + "\n")
            written.append({"path": path.as_posix(), "command": "run" if simulated else "reliability"})
        return written


#: Filters of claims: label and values.
FILTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "verdict": ("Claims by verdict", VERDICTS),
    "data": ("Claims by what they rest on", ("model", "trace", "stand-in")),
    "work": ("Claims by how they were computed", WORK),
}


def _filters(papers: Iterable[Context]) -> list[Context]:
    """Return the filters with the number of claims for each value that occurs."""
    claims = [claim for paper in papers for claim in paper["claims"]]
    filters = []
    for of, (label, values) in FILTERS.items():
        counts = Counter(claim[of] for claim in claims)
        shown = {value: counts[value] for value in values if counts[value]}
        filters.append({"of": of, "label": label, "all": len(claims), "counts": shown})
    return filters


def _curve(finding: Finding) -> Table | None:
    """Return the curve of a finding as a table."""
    if not finding.curve:
        return None
    headers = list(dict.fromkeys(key for row in finding.curve for key in row))
    rows = [[_cell(row.get(header, "")) for header in headers] for row in finding.curve]
    return Table(headers, rows)


def _cell(value: Any) -> str:
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=_known)


def _known(value: Any) -> Any:
    """Return a NumPy number as a plain one, and anything else as text."""
    return value.item() if hasattr(value, "item") else str(value)
