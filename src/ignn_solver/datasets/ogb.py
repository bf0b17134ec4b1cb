"""ogbn-arxiv and ogbn-products from the raw files of OGB (Hu et al., NeurIPS 2020).

Read directly, without the ``ogb`` package: ``raw/*.csv.gz`` and ``split/KIND/*.csv.gz``.
"""

from __future__ import annotations

import numpy as np
import torch

from ..errors import InputError
from .archives import Archive
from .data import NodeData
from .published_split import with_split
from .source import Parsed, Source
from .text import check_ids, read_column, read_rows, read_table

VERSION = 1
_PARTS = ("train", "valid", "test")
# The published split, and whether the file has each undirected edge only once.
_KINDS = {"ogbn-arxiv": ("time", False), "ogbn-products": ("sales_ranking", True)}


def parse(archive: Archive, source: Source) -> Parsed:
    """Read graph, features, labels and the published split."""
    kind, once = _KINDS[source.name]
    nodes = int(_column(archive, "raw/num-node-list.csv.gz")[0])
    labels = _column(archive, "raw/node-label.csv.gz")
    if len(labels) != nodes:
        raise InputError(
            f"{archive.label('raw/node-label.csv.gz')} has {len(labels)} rows for {nodes} nodes"
        )
    check_ids(labels, source.classes, archive.label("raw/node-label.csv.gz"), "class")
    edge = archive.find("raw/edge.csv.gz")
    with archive.unpack(edge) as stream:
        edges = read_table(stream, archive.label(edge), columns=2)
    check_ids(edges, nodes, archive.label(edge))
    rows = np.ascontiguousarray(edges.T)
    if once:
        rows = np.concatenate([rows, rows[::-1]], axis=1)
    del edges
    tensors = {
        "x": torch.from_numpy(_features(archive, nodes)),
        "y": torch.from_numpy(labels),
        "edge_index": torch.from_numpy(rows),
    }
    for part in _PARTS:
        name = f"split/{kind}/{part}.csv.gz"
        tensors[part] = torch.from_numpy(
            check_ids(_column(archive, name), nodes, archive.label(name))
        )
    return Parsed(tensors)


def _column(archive: Archive, ending: str) -> np.ndarray:
    name = archive.find(ending)
    with archive.unpack(name) as stream:
        return read_column(stream, archive.label(name))


def _features(archive: Archive, nodes: int) -> np.ndarray:
    """Features row by row into one array, so that products' text never is in memory whole."""
    name = archive.find("raw/node-feat.csv.gz")
    x: np.ndarray | None = None
    filled = 0
    with archive.unpack(name) as stream:
        for rows in read_rows(stream, archive.label(name), dtype=np.float32):
            if x is None:
                x = np.empty((nodes, rows.shape[1]), dtype=np.float32)
            x[filled : filled + len(rows)] = rows[: max(0, nodes - filled)]
            filled += len(rows)
    if x is None or filled != nodes:
        raise InputError(
            f"{archive.label(name)} has {filled} feature rows for {nodes} nodes; "
            f"each node must have one"
        )
    return x


def build(parsed: Parsed, source: Source, split: str | None, seed: int) -> NodeData:
    """Make the graph.

    ``split`` is OGB's (default; also by its name, ``"time"`` for arxiv, ``"sales_ranking"`` for
    products) or ``"stratified"``: 60%, 20% and 20% of each class.
    """
    kind, _ = _KINDS[source.name]
    return with_split(parsed, source, _PARTS, kind, split, seed)
