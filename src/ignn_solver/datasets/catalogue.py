"""The table of datasets: what each is, and whether it is on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from .directory import data_directory
from .fetch import find
from .presets import PRESETS, stand_in_reason
from .registry import SOURCES
from .source import Source

_GENERATED = (
    Source("digits", "node", 1_797, 12_340, 64, 10, "scikit-learn", "BSD", "digits"),
    Source("chains", "node", 400, 360, 100, 2, "IGNN's long-range task", "generated", "chains"),
    Source("blocks", "node", 2_000, 10_000, 32, 5, "block model", "generated", "blocks"),
    *(
        Source(
            f"blocks:{name}",
            "node",
            *(shape.nodes, shape.edges, shape.features, shape.classes),
            home="block model",
            licence="generated",
            module="blocks",
            stand_in=stand_in_reason(name),
        )
        for name, shape in PRESETS.items()
    ),
)


@dataclass(frozen=True)
class Description:
    """One row of the table.

    Attributes:
        name: Name for ``load``.
        task: ``"node"`` or ``"graph"``.
        count: Nodes, or graphs.
        edges: Undirected edges, over all graphs.
        features: Number of features.
        classes: Number of classes.
        source: Who publishes it.
        licence: Under which terms.
        available: ``"here"``, ``"download"``, ``"by hand"`` or ``"generated"``.
        stand_in: Empty for real data, else why figures on it are not the real dataset's.
        note: What a user must know.
    """

    name: str
    task: str
    count: int
    edges: int
    features: int
    classes: int
    source: str
    licence: str
    available: str
    stand_in: str
    note: str


def names() -> list[str]:
    """Names that ``load`` takes, besides ``chains:LENGTH``, ``blocks:NODES`` and ``pyg:...``."""
    return [*(source.name for source in _GENERATED), *SOURCES]


def describe(name: str, root: str | Path | None = None) -> Description:
    """Say what a dataset is and whether it is on this machine.

    Args:
        name: One of ``names()``.
        root: The data directory; default as for ``load``.
    """
    source = {**{s.name: s for s in _GENERATED}, **SOURCES}.get(name)
    if source is None:
        raise InputError(f"no dataset {name!r}: choose among {', '.join(names())}")
    if source.archive is None:
        available = "generated"
    elif find(source, data_directory(root)) is not None:
        available = "here"
    else:
        available = "download" if source.url or source.parts else "by hand"
    return Description(
        source.name,
        source.task,
        source.count,
        source.edges,
        source.features,
        source.classes,
        source.home,
        source.licence,
        available,
        source.stand_in,
        source.note,
    )
