"""Hit ratios of caches with different replacement policies and sizes for a trace."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim import _core
from sledsim._core import ScenarioError
from sledsim.caches.entries import catalog
from sledsim.runs.running import ProgressCallback
from sledsim.scenario.policy_loading import CLASS_NAME, load
from sledsim.show.arguments import require_integer, require_kind, require_several
from sledsim.show.faults import MOST, make_error
from sledsim.show.naming import with_count
from sledsim.show.progress import reporting
from sledsim.show.shown import Drawn, OneTable, Plain
from sledsim.show.tables import Table, number
from sledsim.traces.trace import TraceLike, source_of

if TYPE_CHECKING:
    import altair

__all__ = ["CacheHits", "HitRatios", "PolicyLike", "hit_ratio"]

#: A policy: its name, a name with parameters (``"2q:in_share=0.3"``), a class (``"my_module:MyPolicy"``,
#: with parameters ``"my_module:MyPolicy,weight=2"``), or a dictionary as in a scenario.
PolicyLike = str | Mapping[str, Any]


#: The assumption for traces of keys or objects.
OBJECTS = "each key or object counts as one page, whatever its size"

EXPECTED = 'one or several policies, such as ["lru", "arc"]'


@dataclass(frozen=True)
class CacheHits:
    """The hits of a cache.

    Parameters
    ----------
    label
        The policy, with the parameters that differ from the published ones.
    policy
        The policy with all parameters.
    pages
        Size of the cache.
    hits
        Number of references to cached pages.
    hit_ratio
        Hits divided by references, from 0 to 1; ``None`` without references.
    memory_bytes
        Memory used by the policy during the simulation.
    """

    label: str
    policy: Mapping[str, Any]
    pages: int
    hits: int
    hit_ratio: float | None
    memory_bytes: int


@dataclass(frozen=True)
class HitRatios(OneTable, Drawn, Plain):
    """Hit ratios of caches for a trace; see :func:`sledsim.studies.hit_ratio`.

    Parameters
    ----------
    trace
        The file of the trace, or the name of a trace in memory.
    format
        Its format.
    requests
        Number of requests.
    skipped
        Number of malformed records that were skipped.
    page_bytes
        Size of a page; ``None`` for a trace of keys or objects, each of which counts as one page.
    references
        Number of page references of the requests.
    caches
        Hits of each cache, by size, then by policy.
    """

    trace: Path | str
    format: str
    requests: int
    skipped: int
    page_bytes: int | None
    references: int
    caches: tuple[CacheHits, ...]

    def ratio(self, policy: str, pages: int) -> float | None:
        """Return the hit ratio of a cache, from 0 to 1; ``None`` if the trace has no references.

        Parameters
        ----------
        policy
            Label of the policy: its name, with the parameters that differ from the published ones.
        pages
            Size of the cache.
        """
        require_kind(ScenarioError, "policy", policy, str, "the label of a policy")
        pages = require_integer(ScenarioError, "pages", pages, 1, MOST)
        for cache in self.caches:
            if (cache.label, cache.pages) == (policy, pages):
                return cache.hit_ratio
        known = ", ".join(f"{cache.label} of {cache.pages}" for cache in self.caches)
        message = f"no cache {policy} of {pages} pages was tried; known: {known}"
        raise make_error(ScenarioError, "unknown-name", message, path="policy", value=policy, allowed=known)

    def plot(self) -> "altair.TopLevelMixin":
        """Draw the miss-ratio curve of each policy."""
        from sledsim.studies.hit_ratios.chart import miss_ratio_curves

        return miss_ratio_curves(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the hit ratios as plain values."""
        return asdict(self) | {"trace": str(self.trace)}

    def table(self) -> Table:
        """Return a table of the hit ratios in percent, with a row for each size and a column for each policy."""
        labels = list(dict.fromkeys(cache.label for cache in self.caches))
        sizes = dict.fromkeys(cache.pages for cache in self.caches)
        page_bytes = self.page_bytes
        rows = [
            [
                f"{pages:,}",
                *([] if page_bytes is None else [number(pages * page_bytes / 1e6)]),
                *(_percent(self.ratio(label, pages)) for label in labels),
            ]
            for pages in sizes
        ]
        if page_bytes is None:
            title = f"{self.trace}: hits in % of {self.references:,} references ({self.format}: {OBJECTS})"
            return Table(["objects", *labels], rows, title=title)
        title = (
            f"{self.trace}: hits in % of {self.references:,} references to pages of {page_bytes:,} bytes"
            f" ({with_count(self.requests, 'request')})"
        )
        return Table(["pages", "MB", *labels], rows, title=title)


def hit_ratio(
    trace: TraceLike,
    policy: PolicyLike | Iterable[PolicyLike] = "lru",
    pages: int | Iterable[int] = 1000,
    *,
    page_bytes: int | None = None,
    format: str | None = None,  # noqa: A002  the word of the field
    skip_bad: int = 0,
    sort: bool = False,
    sector_bytes: int | None = None,
    columns: Mapping[str, str] | None = None,
    event: str | None = None,
    time_unit: str | None = None,
    progress: ProgressCallback | bool | None = None,
) -> HitRatios:
    """Simulate caches for a trace and count the hits; no device is simulated.

    Every request references the pages that it touches, in the order of the trace; times are ignored unless ``sort`` is
    true. Reads and writes count equally, and missed pages are inserted. The trace is read once for all caches. Keys and
    objects (formats ``keys`` and ``oracle-general``) count as one page each.

    Parameters
    ----------
    trace
        The path of a trace, a :class:`~sledsim.Trace`, or a frame as for :meth:`sledsim.Trace.from_frame`.
    policy
        One or several policies; :func:`sledsim.caches.catalog` lists them.
    pages
        One or several cache sizes. Every policy is simulated at every size.
    page_bytes
        Size of a page; by default that of the trace's format, 512 for lists of the ARC paper, or else 4096. Not allowed
        for traces of keys and objects.
    format, skip_bad, sort, sector_bytes, columns, event, time_unit
        Reading options; see :func:`sledsim.traces.open_trace`.
    progress
        A progress function, or true for a progress bar on a terminal; see :func:`sledsim.run`.

    Returns
    -------
    HitRatios
        Requests, references, and the hits of each cache.

    Raises
    ------
    ScenarioError
        If a policy or a size is invalid.
    TraceError
        If the trace cannot be read.
    """
    policies = [policy] if isinstance(policy, str | Mapping) else _policies(policy)
    sizes = list(pages) if isinstance(pages, Iterable) else [pages]
    if not policies or not sizes:
        message = "no cache to try: give at least one policy and one number of pages"
        raise make_error(ScenarioError, "missing", message, path="policies")
    checked: list[tuple[str, Any]] = [("pages", size) for size in sizes]
    if page_bytes is not None:
        checked.insert(0, ("page_bytes", page_bytes))
    for name, size in checked:
        require_integer(ScenarioError, name, size, 1)
    source = source_of(
        trace,
        format=format,
        skip_bad=skip_bad,
        sort=sort,
        sector_bytes=sector_bytes,
        columns=columns,
        event=event,
        time_unit=time_unit,
    )
    documents = [_document(each) for each in policies]
    caches = [(each, size) for size in sizes for each in documents]
    tried = [cache for place, cache in enumerate(caches) if cache not in caches[:place]]
    with reporting(progress, "reading") as report:
        found = _core.hit_ratios(
            source.given, caches=tried, page_bytes=page_bytes, policies=load, progress=report, **source.options
        )
    hits = tuple(CacheHits(label=_label(cache["policy"]), **cache) for cache in found.pop("caches"))
    found["format"] = source.format or found["format"]
    return HitRatios(trace=source.path or source.name, caches=hits, **found)


def _policies(given: object) -> list[PolicyLike]:
    policies = require_several(ScenarioError, "policy", given, EXPECTED)
    for each in policies:
        if not isinstance(each, Mapping):
            require_kind(ScenarioError, "policy", each, str, EXPECTED)
    return policies


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None else f"{100 * ratio:.2f}"


def _document(policy: PolicyLike) -> dict[str, Any]:
    """Return a policy as a document; ``"2q:in_share=0.3"`` becomes a name and a parameter."""
    if not isinstance(policy, str):
        return dict(policy)
    name, _, rest = policy.partition(":")
    own, _, beside = policy.partition(",")
    if CLASS_NAME.fullmatch(own) and name not in catalog():
        name, rest = own, beside
    document: dict[str, Any] = {"name": name}
    for pair in rest.split(",") if rest else ():
        key, equals, value = pair.partition("=")
        if not (key and equals and value):
            message = f"policy {policy!r}: expected NAME, NAME:KEY=VALUE,KEY=VALUE or MODULE:CLASS,KEY=VALUE"
            raise make_error(
                ScenarioError,
                "notation",
                message,
                path="policies",
                value=policy,
                allowed="NAME, NAME:KEY=VALUE,KEY=VALUE or MODULE:CLASS,KEY=VALUE",
            )
        try:
            document[key.strip()] = json.loads(value)
        except json.JSONDecodeError:
            message = f"policy {policy!r}: {key} = {value!r}: expected a number"
            raise make_error(
                ScenarioError, "wrong-type", message, path=f"policies.{name}.{key}", value=value, allowed="a number"
            ) from None
    return document


def _label(policy: Mapping[str, Any]) -> str:
    """Return the label of a policy: its name, and the parameters that differ from the published ones."""
    if policy["name"] == "custom":
        parameters = [f"{key}={value}" for key, value in policy["parameters"].items()]
        return ",".join([_core.policy_title(policy), *parameters])
    known = catalog()[policy["name"]]
    own = [f"{key}={policy[key]:g}" for key, schema in known.parameters.items() if policy[key] != schema["default"]]
    return ":".join([policy["name"], *([",".join(own)] if own else [])])
