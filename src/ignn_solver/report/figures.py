"""Figures in one style: colour-blind safe, readable in print and on a screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..solving import Solution

#: Okabe and Ito's palette, which stays distinct under every common colour blindness.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
#: Where a residual of exactly zero is drawn: it has no logarithm.
_ZERO = 1e-16
#: Room for a label of a legend: for its line, and for each letter.
_HANDLE_INCHES, _LETTER_INCHES = 0.65, 0.068
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


@contextmanager
def styled() -> Iterator[Any]:
    """``matplotlib.pyplot`` in the project's style, without a display; figures made here are closed."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    from cycler import cycler

    style: Any = {
        "axes.grid": True,
        "axes.prop_cycle": cycler(color=PALETTE) + cycler(marker=MARKERS),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "figure.constrained_layout.use": True,
        "figure.dpi": 120,
        "font.size": 10,
        "grid.alpha": 0.3,
        "legend.frameon": False,
        "lines.markersize": 4,
    }
    others = set(plt.get_fignums())
    try:
        with plt.rc_context(style):
            yield plt
    finally:
        for number in set(plt.get_fignums()) - others:
            plt.close(number)


def save(figure: Figure, path: Path) -> Path:
    """Write a figure, whole or not at all, in the format of the path's ending."""
    with replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip(".") or "png")
    return path


def save_all(figure: Figure, path: Path) -> list[Path]:
    """Write a figure as PNG and as PDF; ``path`` has no ending."""
    return [save(figure, path.with_name(path.name + ending)) for ending in (".png", ".pdf")]


def legend_above(figure: Figure, axis: Axes) -> None:
    """One legend for all panels, above them, where it covers nothing."""
    handles, labels = axis.get_legend_handles_labels()
    widest = _HANDLE_INCHES + _LETTER_INCHES * max(map(len, labels))
    columns = max(1, int(figure.get_figwidth() / widest))
    figure.legend(handles, labels, loc="outside upper center", ncols=columns)


def plain_ticks(axis: Axes) -> None:
    """Ticks of a logarithmic y-axis at 1, 2 and 5, written out: for less than some three decades."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter(NullFormatter())


def convergence(curves: dict[str, Solution], tol: float, path: Path, title: str) -> Path:
    """Relative residual against evaluations of f and against time, one curve a solver."""
    from matplotlib.ticker import MaxNLocator

    with styled() as plt:
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
        for name, solution in curves.items():
            residuals = solution.trace.amax(-1).clamp_min(_ZERO).tolist()
            first = solution.num_evals - len(residuals) + 1
            left.semilogy(range(first, first + len(residuals)), residuals, label=name)
            right.semilogy([1000 * second for second in solution.seconds], residuals, label=name)
        for axis, label in ((left, "evaluations of f"), (right, "milliseconds")):
            axis.axhline(tol, color="grey", linestyle="--", linewidth=1)
            axis.set_xlabel(label)
        left.xaxis.set_major_locator(MaxNLocator(integer=True))
        left.set_ylabel("relative residual")
        left.legend()
        figure.suptitle(title)
        return save(figure, path)
