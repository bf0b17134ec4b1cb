"""CoraFull without its features: the real graph, with rows of a neighbour graph in their place."""

from __future__ import annotations

import numpy as np
import scipy.sparse
import torch

from .amgcn import build, published_splits
from .archives import Archive
from .data import feature_tensor
from .source import Parsed, Source
from .text import check_ids, read_column, read_table

__all__ = ["VERSION", "build", "parse"]

VERSION = 1


def parse(archive: Archive, source: Source) -> Parsed:
    """Read graph, labels and splits; ``x[i, j] = 1`` where i and j are feature neighbours."""
    label, edge, nearest = (
        archive.find("coraml.label"),
        archive.find("coraml.edge"),
        archive.find("knn/c7.txt"),
    )
    with archive.open(label) as stream:
        labels = check_ids(
            read_column(stream, archive.label(label)), source.classes, archive.label(label), "class"
        )
    nodes = len(labels)
    pairs = {}
    for name in (edge, nearest):
        with archive.open(name) as stream:
            table = read_table(stream, archive.label(name), columns=2)
        pairs[name] = check_ids(table, nodes, archive.label(name))
    rows, columns = pairs[nearest].T
    ones = np.ones(len(rows), dtype=np.float32)
    neighbours = scipy.sparse.csr_matrix((ones, (rows, columns)), shape=(nodes, nodes))
    neighbours = neighbours.maximum(neighbours.T)
    return Parsed(
        {
            "x": feature_tensor(neighbours),
            "y": torch.from_numpy(labels),
            "edge_index": torch.from_numpy(np.ascontiguousarray(pairs[edge].T)),
            **published_splits(archive, nodes),
        }
    )
