"""Griffin et al. 1999: experiments for its claims."""

from sledsim.mechanisms.mems import MemsStorage
from sledsim.papers.finding import Finding
from sledsim.papers.registry import experiment
from sledsim.papers.study import Study

__all__: list[str] = []


@experiment("griffin1999.settle-time")
def settle_time(study: Study) -> Finding:
    """Settling constants over 2 pi times the resonance."""
    return Finding(MemsStorage("griffin1999").settle_ms, "formula")
