"""Reddit in the format of GraphSAINT (Zeng et al., ICLR 2020).

``adj_full.npz`` (a scipy CSR matrix), ``feats.npy``, ``class_map.json`` (class of each node, or a
0/1 list) and ``role.json`` (node numbers under ``tr``, ``va`` and ``te``).
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import scipy.sparse
import torch

from ..errors import InputError
from .archives import Archive
from .attributed import read_csr
from .data import NodeData, feature_tensor
from .labels import class_numbers
from .published_split import with_split
from .source import Parsed, Source
from .text import check_ids

VERSION = 1
_PARTS = ("tr", "va", "te")


def parse(archive: Archive, source: Source) -> Parsed:
    """Read graph, features, classes and roles."""
    name = archive.find("adj_full.npz")
    with archive.open(name) as stream:
        adjacency = read_csr(Archive.nested(stream, archive.label(name), source.limit)).tocoo()
    nodes = adjacency.shape[0]
    feature = archive.find("feats.npy")
    with archive.open(feature) as stream:
        try:
            x = np.lib.format.read_array(stream, allow_pickle=False)
        except ValueError as error:
            raise InputError(f"{archive.label(feature)} is not a plain array ({error})") from error
    if x.shape[0] != nodes:
        raise InputError(
            f"{archive.label(feature)} has {x.shape[0]} feature rows for {nodes} nodes; "
            f"each node must have one"
        )
    tensors = {
        "x": feature_tensor(x),
        "y": _classes(archive, nodes, source.classes),
        "edge_index": torch.from_numpy(np.stack([adjacency.row, adjacency.col]).astype(np.int64)),
    }
    role, roles = _json(archive, "role.json")
    for part in _PARTS:
        try:
            indices = np.array(roles[part], dtype=np.int64).reshape(-1)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{role}: no list of node numbers under {part!r}") from error
        check_ids(indices, nodes, f"{role}, list {part!r}", unit="entry")
        tensors[part] = torch.from_numpy(indices)
    return Parsed(tensors)


def _json(archive: Archive, ending: str) -> tuple[str, Any]:
    name = archive.find(ending)
    with archive.open(name) as stream:
        try:
            return archive.label(name), json.load(stream)
        except ValueError as error:
            raise InputError(f"{archive.label(name)} is not JSON ({error})") from error


def _classes(archive: Archive, nodes: int, classes: int) -> torch.Tensor:
    file, table = _json(archive, "class_map.json")
    rows: list[int] = []
    columns: list[int] = []
    try:
        for node, value in table.items():
            chosen = (
                [i for i, one in enumerate(value) if one] if isinstance(value, list) else [value]
            )
            rows.extend([int(node)] * len(chosen))
            columns.extend(int(c) for c in chosen)
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"{file} does not map node numbers to classes ({error})") from error
    check_ids(np.array(rows), nodes, file, unit="entry")
    check_ids(np.array(columns), classes, file, "class", unit="entry")
    ones = np.ones(len(rows), dtype=np.float32)
    return class_numbers(scipy.sparse.csr_matrix((ones, (rows, columns)), shape=(nodes, classes)))


def build(parsed: Parsed, source: Source, split: str | None, seed: int) -> NodeData:
    """Make the graph.

    ``split`` is ``"published"`` (default; two thirds, a tenth, a quarter) or ``"stratified"``:
    60%, 20% and 20% of each class, which has the sizes of the paper's table.
    """
    return with_split(parsed, source, _PARTS, "published", split, seed)
