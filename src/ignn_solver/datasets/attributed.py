"""The common ``.npz`` layout of attributed graphs, as graph2gauss publishes CoraFull.

Arrays ``adj_data``, ``adj_indices``, ``adj_indptr``, ``adj_shape`` are the adjacency in CSR form,
``attr_*`` the features likewise (or a dense ``attr_matrix``), ``labels`` the classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import torch

from ..errors import InputError
from .archives import Archive
from .data import NodeData, feature_tensor
from .parted import parted
from .source import Parsed, Source
from .splits import stratified

VERSION = 1


def read_array(archive: Archive, name: str) -> np.ndarray:
    """Read one array of an ``.npz``; arrays that would need a pickle are refused."""
    member = archive.find(f"{name}.npy")
    with archive.open(member) as stream:
        try:
            return np.lib.format.read_array(stream, allow_pickle=False)
        except ValueError as error:
            raise InputError(f"{archive.label(member)} is not a plain array ({error})") from error


def read_csr(archive: Archive, prefix: str = "") -> scipy.sparse.csr_matrix:
    """Read ``PREFIXdata``, ``PREFIXindices``, ``PREFIXindptr`` and ``PREFIXshape`` as a matrix."""
    parts = [read_array(archive, prefix + part) for part in ("data", "indices", "indptr", "shape")]
    try:
        matrix = scipy.sparse.csr_matrix(tuple(parts[:3]), shape=tuple(parts[3].tolist()))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise InputError(
            f"{archive.path.name}: the arrays {prefix}data, {prefix}indices, {prefix}indptr and "
            f"{prefix}shape do not make a matrix ({error})"
        ) from error
    return matrix


def read_attributed(
    archive: Archive,
) -> tuple[scipy.sparse.csr_matrix, Any, np.ndarray | None]:
    """Read adjacency, features and labels; the latter two may be absent (``None``)."""
    file = archive.path.name
    adjacency = read_csr(archive, "adj_")
    if adjacency.shape[0] != adjacency.shape[1]:
        raise InputError(f"{file}: the adjacency is {adjacency.shape}, not square")
    features = None
    if archive.has("attr_data.npy"):
        features = read_csr(archive, "attr_")
    elif archive.has("attr_matrix.npy"):
        features = read_array(archive, "attr_matrix")
    if features is not None and features.shape[0] != adjacency.shape[0]:
        raise InputError(
            f"{file}: {features.shape[0]} feature rows for {adjacency.shape[0]} nodes; "
            f"each node must have one"
        )
    labels = read_array(archive, "labels") if archive.has("labels.npy") else None
    if labels is not None and labels.shape != (adjacency.shape[0],):
        raise InputError(
            f"{file}: labels have shape {labels.shape} for {adjacency.shape[0]} nodes; "
            f"each node must have one"
        )
    return adjacency, features, labels


def both_directions(matrix: scipy.sparse.spmatrix) -> torch.Tensor:
    """``edge_index`` of the undirected graph: no self-loops, each edge in both directions."""
    matrix = matrix.tocsr()
    matrix = (matrix + matrix.T).tocoo()
    kept = matrix.row != matrix.col
    return torch.from_numpy(np.stack([matrix.row[kept], matrix.col[kept]]).astype(np.int64))


def parse(archive: Archive, source: Source) -> Parsed:
    """Read CoraFull: words are present or not, citations undirected, self-citations dropped."""
    adjacency, features, labels = read_attributed(archive)
    if features is None or labels is None:
        raise InputError(f"{archive.path.name} lacks attr_data or labels: not {source.name}")
    wrong = np.flatnonzero((labels < 0) | (labels >= source.classes))
    if wrong.size:
        raise InputError(
            f"{archive.path.name}: node {wrong[0]} has label {labels[wrong[0]]}, "
            f"but classes are 0 to {source.classes - 1}"
        )
    features = scipy.sparse.csr_matrix(features)
    features.eliminate_zeros()
    features.data = (features.data > 0).astype(np.float32)
    return Parsed(
        {
            "x": feature_tensor(features),
            "y": torch.from_numpy(labels.astype(np.int64)),
            "edge_index": both_directions(adjacency),
        }
    )


def build(parsed: Parsed, source: Source, split: str | None, seed: int) -> NodeData:
    """Make the graph.

    ``split`` is ``"60"`` (default), ``"40"`` or ``"20"`` training nodes a class (at most half of a
    class), 500 validation and 1,000 test nodes, drawn by ``seed``; or ``"stratified"``: 60%, 20%
    and 20% of each class.
    """
    labels = parsed.tensors["y"].numpy()
    split = split or "60"
    if split in ("20", "40", "60"):
        parts = stratified(labels, int(split), 500, 1000, seed)
    elif split == "stratified":
        parts = stratified(labels, 0.6, 0.2, None, seed)
    else:
        raise InputError(f"{source.name} has no split {split!r}: choose 20, 40, 60 or stratified")
    return parted(parsed, source, parts, split)
