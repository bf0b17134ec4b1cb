"""The few figures that a reader should take away, each with what it is measured against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..names import CLASSICAL
from .reading import BUSY, COMMANDS, Results, Row, is_number, of_kind

_LEARNED, _PUBLISHED = "learned", "ignn-published"


@dataclass(frozen=True)
class Measured:
    """One dataset's benchmark.

    Attributes:
        dataset: Its name.
        tol: The relative residual that every solver reached.
        solvers: The row of each solver.
        head: What the benchmark says of the dataset.
    """

    dataset: str
    tol: float
    solvers: dict[str, Row]
    head: dict[str, Any]

    @property
    def rival(self) -> str | None:
        """The fastest classical solver: ours, or one of torchdeq's."""
        times = {
            name: row["ms"]
            for name, row in self.solvers.items()
            if name in CLASSICAL or name.startswith("torchdeq-")
        }
        return min(times, key=lambda name: times[name]) if times else None

    def speedup(self, rival: str | None, field: str = "ms") -> float | None:
        """How many times less time the learned solver takes than ``rival``."""
        ours, theirs = self.solvers.get(_LEARNED, {}), self.solvers.get(rival or "", {})
        if not is_number(ours.get(field)) or not is_number(theirs.get(field)) or ours[field] <= 0:
            return None
        return float(theirs[field] / ours[field])

    def summary(self) -> tuple[str, str | None, float | None, float | None, float | None]:
        """Dataset, fastest rival, speed-ups against it and the published loop, share certified."""
        certified = self.solvers.get(_LEARNED, {}).get("certified")
        ratios = self.speedup(self.rival), self.speedup(_PUBLISHED)
        return self.dataset, self.rival, *ratios, certified if is_number(certified) else None


@dataclass(frozen=True)
class Tile:
    """One figure of the headline.

    Attributes:
        figure: The figure itself; empty if it was not measured.
        label: What it is.
        detail: Against what, on what, to what residual; or the command that measures it.
    """

    figure: str
    label: str
    detail: str


def benchmarks(files: list[Results]) -> list[Measured]:
    """One benchmark a dataset, the latest, at the residual that most datasets were measured at."""
    found: dict[tuple[str, float], Measured] = {}
    for file in reversed(of_kind(files, "bench")):
        heads = file.content.get("datasets")
        for head in heads if isinstance(heads, list) else [file.content]:
            if not isinstance(head, dict) or not is_number(head.get("tol")):
                continue
            name = head.get("dataset")
            rows = [
                r for r in file.rows if r.get("dataset", name) == name and is_number(r.get("ms"))
            ]
            solvers = {str(row.get("solver")): row for row in rows if row["ms"] > 0}
            if isinstance(name, str) and solvers:
                found[name, head["tol"]] = Measured(name, head["tol"], solvers, head)
    tolerances = [tol for _, tol in found]
    common = max(sorted(set(tolerances)), key=tolerances.count, default=0.0)
    return [one for (_, tol), one in found.items() if tol == common]


def headline(files: list[Results]) -> list[Tile]:
    """Speed-up against the fastest rival and the published loop, accuracy kept, share certified."""
    measured = benchmarks(files)
    if not measured:
        absent = f"not measured yet: {COMMANDS['bench']}"
        labels = ("speed-up", "speed-up against the published loop", "accuracy kept")
        return [*(Tile("", label, absent) for label in labels), _certified(files, [])]
    at = f"at relative residual {measured[0].tol:g}"
    return [
        _speedup(
            measured,
            {one.dataset: one.rival for one in measured},
            "faster than the fastest classical solver",
            f"of ours and torchdeq's, {at}",
        ),
        _speedup(
            measured,
            {one.dataset: _PUBLISHED for one in measured},
            "faster than IGNN's published loop",
            at,
        ),
        _accuracy(measured),
        _certified(files, measured),
    ]


def _span(values: list[float], form: str = ".1f") -> str:
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low}–{high}"


def _over(names: list[str]) -> str:
    return f"on {names[0]}" if len(names) == 1 else f"over {len(names)} datasets"


def _speedup(
    measured: list[Measured], rivals: dict[str, str | None], label: str, against: str
) -> Tile:
    found = {one.dataset: one.speedup(rivals[one.dataset]) for one in measured}
    values = {name: value for name, value in found.items() if value is not None}
    if not values:
        return Tile("", label, f"not measured yet: {COMMANDS['bench']}")
    named = sorted({rival for name, rival in rivals.items() if rival and name in values})
    who = f" ({', '.join(named)})" if named != [_PUBLISHED] else ""
    # A ratio below one is a loss, and reads as one.
    if min(values.values()) < 1:
        label = label.replace("faster than", "times the speed of", 1)
    return Tile(f"{_span(list(values.values()))}×", label, f"{_over(list(values))}, {against}{who}")


def _accuracy(measured: list[Measured]) -> Tile:
    label = "accuracy kept"
    losses = {
        one.dataset: 100 * (one.head["exact_accuracy"] - one.solvers[_LEARNED]["accuracy"])
        for one in measured
        if is_number(one.head.get("exact_accuracy"))
        and is_number(one.solvers.get(_LEARNED, {}).get("accuracy"))
    }
    if not losses:
        return Tile("", label, f"not measured yet: {COMMANDS['bench']}")
    worst = max(abs(loss) for loss in losses.values())
    return Tile(
        f"± {worst:.2f}",
        "points from the exact equilibrium's test accuracy",
        f"the largest difference of the learned solver, {_over(list(losses))}",
    )


def _certified(files: list[Results], measured: list[Measured]) -> Tile:
    label = "of the nodes certified"
    shares = {
        one.dataset: 100 * one.solvers[_LEARNED]["certified"]
        for one in measured
        if is_number(one.solvers.get(_LEARNED, {}).get("certified"))
    }
    source = "their class is proven to be that of the exact equilibrium"
    if not shares:
        for file in of_kind(files, "certificate")[:1]:
            shares = {
                str(row.get("dataset")): 100 * row["certified"]
                for row in file.rows
                if row.get("tol") == 1e-3
                and row.get("rounding") == "a priori"
                and is_number(row.get("certified"))
            }
    if not shares:
        return Tile("", label, f"not measured yet: {COMMANDS['certificate']}")
    return Tile(f"{_span(list(shares.values()))}%", label, f"{source}, {_over(list(shares))}")


def warnings(measured: list[Measured]) -> list[str]:
    """Sentences about benchmarks that were taken on a busy machine."""
    return [
        f"{one.dataset} was timed while other processes used {one.head['others_cores']:.1f} cores: "
        "its times mean little"
        for one in measured
        if is_number(one.head.get("others_cores")) and one.head["others_cores"] > BUSY
    ]
