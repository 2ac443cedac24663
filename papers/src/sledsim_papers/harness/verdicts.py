"""The outcomes as a JSON document."""

from typing import Any

from sledsim import __version__
from sledsim_papers.harness.change import Change
from sledsim_papers.harness.claim import PAPERS, motion, set_ups, title
from sledsim_papers.harness.finding import Ours
from sledsim_papers.harness.reproduction import Answer, Redrawn, Reproduction
from sledsim_papers.harness.stand_ins import stand_ins

__all__ = ["SCHEMA", "change_verdicts", "verdicts"]

#: Version of the document's format, which docs/how-to/reproduce.md describes.
SCHEMA = 4


def verdicts(found: Reproduction) -> dict[str, Any]:
    """Return the outcomes as plain values for JSON.

    Apart from ``seconds`` they are the same in every run.

    Parameters
    ----------
    found
        The outcomes.
    """
    return {
        "schema": SCHEMA,
        "sledsim": __version__,
        "mode": "quick" if found.quick else "full",
        "complete": found.complete,
        "totals": {**found.count(), "simulated": found.simulated(), "failed": len(found.failures)},
        "papers": [
            {
                "paper": paper,
                "title": title(paper),
                "motion": motion(paper),
                "set_ups": dict(set_ups(paper)),
                "totals": {**found.count(paper), "simulated": found.simulated(paper)},
            }
            for paper in PAPERS
            if paper in found.papers()
        ],
        "stand_ins": [each.to_dict() for each in stand_ins(found)],
        "claims": [_claim(answer) for answer in found.answers],
        "figures": [_figure(redrawn) for redrawn in found.redrawn],
    }


def change_verdicts(found: Change) -> dict[str, Any]:
    """Return the outcome of a claim without settings, and under ``changed`` the outcome with them.

    Parameters
    ----------
    found
        Both outcomes.
    """
    changed = {"overrides": list(found.settings), **_claim(found.answers[1])}
    return {**verdicts(found.plain), "complete": found.complete, "changed": changed}


def _claim(answer: Answer) -> dict[str, Any]:
    claim, finding = answer.claim, answer.finding
    document = {"name": claim.name, **claim.model_dump(mode="json", exclude={"id"}), "verdict": answer.verdict}
    document |= {"reason": answer.reason, "failed": answer.failed, "seconds": round(answer.seconds, 3)}
    document |= {"seeds": answer.seeds, "probe_seeds": answer.probe_seeds}
    document |= {"by_seed": list(answer.by_seed), "perturbed": _perturbed(answer)}
    if finding is None:
        return document
    return document | {
        "ours": _plain(finding.ours),
        "time_optimal": None if answer.time_optimal is None else _plain(answer.time_optimal),
        "decimals": finding.decimals,
        "intervals": [list(interval) for interval in finding.intervals],
        "how": finding.how,
        "assumes": finding.assumes,
        "cause": finding.cause,
        "probes": [{"change": probe.change, "ours": _plain(probe.ours)} for probe in finding.probes],
        "simulates": finding.simulates,
        "shape_holds": finding.shape_holds,
    }


def _perturbed(answer: Answer) -> dict[str, Any] | None:
    perturbed = answer.perturbed
    if perturbed is None:
        return None
    ours = None if perturbed.ours is None else _plain(perturbed.ours)
    said = {
        "change": perturbed.perturbation.change,
        "ours": ours,
        "verdict": perturbed.verdict,
        "reason": perturbed.reason,
    }
    return said | {"insensitive": answer.insensitive}


def _figure(redrawn: Redrawn) -> dict[str, Any]:
    picture, drawn = redrawn.picture, redrawn.drawn
    return {
        "name": picture.stem,
        "paper": picture.paper,
        "where": picture.where,
        "title": picture.title,
        "drawn": drawn is not None,
        "reason": redrawn.reason,
        "failed": redrawn.failed,
        "stand_in": drawn is not None and drawn.stand_in,
        "how": drawn.how if drawn else "",
        "seeds": redrawn.seeds,
        "seconds": round(redrawn.seconds, 3),
    }


def _plain(ours: Ours) -> Any:
    """Return figures with plain Python numbers."""
    if isinstance(ours, tuple):
        return [_plain(each) for each in ours]
    return ours if isinstance(ours, str) else float(ours)
