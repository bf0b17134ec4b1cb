"""What the registry knows of a dataset, and what a parser makes of its archive."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .archives import GIBIBYTE

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Source:
    """One dataset: what it is, where it comes from, and which module reads it.

    Attributes:
        name: Name for ``load``.
        task: ``"node"`` or ``"graph"``.
        count: Nodes, or graphs for a graph task.
        edges: Undirected edges as the source counts them; for graph tasks over all graphs.
        features: Number of features.
        classes: Number of classes.
        home: Who publishes it.
        licence: Under which terms.
        module: Module of this package that parses it (or makes it, when there is no archive).
        archive: File, or folder, in the data directory; ``None`` when generated.
        also: Other names under which the same data may be found there.
        url: Where the archive is downloaded from; ``None`` when there is no single file.
        parts: Files to download into the folder ``archive``: (name, address) of each.
        sha256: Of the bytes at ``url``, where known for certain.
        size: Of the bytes at ``url``, where known for certain.
        limit: Largest unpacked size, in bytes.
        stand_in: Why figures on it must not pass for the dataset it stands for; empty if real.
        note: What a user must know.
        folder: Name of the files inside the archive, when not ``name``.
    """

    name: str
    task: str
    count: int
    edges: int
    features: int
    classes: int
    home: str
    licence: str
    module: str
    archive: str | None = None
    also: tuple[str, ...] = ()
    url: str | None = None
    parts: tuple[tuple[str, str], ...] = ()
    sha256: str | None = None
    size: int | None = None
    limit: int = 2 * GIBIBYTE
    stand_in: str = ""
    note: str = ""
    folder: str = ""


@dataclass
class Parsed:
    """An archive read: what is cached, before any split is drawn or option applied."""

    tensors: dict[str, Tensor]
    facts: dict[str, Any] = field(default_factory=dict)
