"""The user's own graph, from files; node ids may be anything and are kept."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from .. import files
from ..errors import InputError
from .archives import Archive
from .attributed import read_array, read_attributed, read_csr
from .data import NodeData, csr_tensor, feature_tensor, node_data
from .nodes import Nodes
from .own_edges import Edges, edges_of_arrays, edges_of_matrix, read_edges
from .own_labels import read_labels, read_split
from .splits import Parts, check, masks
from .tables import is_table, read_own_table, write_parquet


def from_files(
    edges: str | Path,
    features: str | Path | None = None,
    labels: str | Path | None = None,
    split: str | Path | None = None,
    seed: int = 0,
) -> NodeData:
    """Read a graph of your own.

    Args:
        edges: ``.csv``, ``.tsv`` or ``.parquet`` with rows ``source,target`` or
            ``source,target,weight``, ids being numbers or text; or ``.npz`` with ``edge_index``
            (and ``edge_weight``), a scipy sparse matrix, or the common layout of attributed graphs
            (``adj_data``, ..., ``attr_data``, ..., ``labels``), which needs no other file.
        features: ``.csv``, ``.tsv`` or ``.parquet`` with rows ``id,number,number,...``; or ``.npy``
            or ``.npz`` (a scipy sparse matrix) whose rows are nodes 0, 1, 2, ... Without features
            ``x`` is the sparse identity.
        labels: ``.csv``, ``.tsv`` or ``.parquet`` with rows ``id,label``, labels being numbers or
            text, nothing or -1 where unknown; or ``.npy``.
        split: ``.csv`` with rows ``id,train|val|test``, ``.json`` with three lists of ids, or
            fractions such as ``"0.6/0.2/0.2"`` (the default) of each class, drawn by ``seed``.
        seed: Draws the split, where it is not read.

    Returns:
        The graph, with the ids of its nodes in ``node_ids`` and the names of its classes in
        ``class_names`` (numpy arrays). Without labels ``num_classes`` is 0 and every mask empty.

    Raises:
        InputError: Anything wrong in a file, with its line.
    """
    path = _existing(edges)
    found, features_inside, labels_inside = _graph(path)
    rows, matrix = _features(features, features_inside, path)
    table = None if labels is None else _existing(labels)
    nodes = Nodes.of(rows, matrix, found, table)
    edge_index, weight = found.resolve(nodes)
    x = _identity(len(nodes)) if matrix is None else feature_tensor(matrix)
    if table is not None:
        y, names = read_labels(table, nodes)
    elif labels_inside is not None:
        y, names = read_labels(labels_inside, nodes, path.name)
    else:
        y, names = np.full(len(nodes), -1, dtype=np.int64), np.array([], dtype=str)
    if len(names):
        parts = read_split(split, nodes, y, seed)
        check(parts, y, len(names), str(split or "the split"))
    else:
        nothing = np.array([], dtype=np.int64)
        parts = Parts(nothing, nothing, nothing)
    extra: dict[str, Any] = {} if weight is None else {"edge_weight": weight}
    return node_data(
        path.stem,
        x=x,
        y=torch.from_numpy(y),
        edge_index=edge_index,
        num_classes=len(names),
        masks=masks(parts, len(nodes)),
        node_ids=nodes.ids,
        class_names=names,
        **extra,
    )


def write_predictions(path: str | Path, data: NodeData, classes: Tensor, **columns: Tensor) -> None:
    """Write ``id,class`` and further columns for every node, under the user's own ids and classes.

    Args:
        path: The file, ``.csv`` or ``.parquet``, written whole or not at all.
        data: The graph, as ``from_files`` or ``load`` gave it.
        classes: Predicted class number of each node.
        **columns: Further numbers for each node, by the name of their column.

    Raises:
        InputError: For another kind of file, or parquet without the extra ``tables``.
    """
    path = Path(path)
    ids, names = data.get("node_ids"), data.get("class_names")
    numbers = classes.tolist()
    table: dict[str, Any] = {
        "id": list(range(len(numbers))) if ids is None else list(ids),
        "class": numbers if names is None else [names[number] for number in numbers],
    }
    table |= {name: column.tolist() for name, column in columns.items()}
    if path.suffix == ".csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
        files.write_text(path, text.getvalue())
    elif path.suffix == ".parquet":
        write_parquet(path, table)
    else:
        raise InputError(f"predictions are written as .csv or .parquet, not {path.name}")


def _existing(name: str | Path) -> Path:
    path = Path(name).expanduser()
    if not path.is_file():
        raise InputError(f"no file {path}")
    return path


def _graph(path: Path) -> tuple[Edges, Any, np.ndarray | None]:
    """Edges, and the features and labels that came with them."""
    if is_table(path):
        return read_edges(path), None, None
    if path.suffix.lower() != ".npz":
        raise InputError(f"edges are read from .csv, .tsv, .parquet or .npz, not {path.name}")
    with Archive(path) as archive:
        if archive.has("adj_data.npy"):
            adjacency, features, labels = read_attributed(archive)
            return edges_of_matrix(path, adjacency), features, labels
        if archive.has("indptr.npy"):
            return edges_of_matrix(path, read_csr(archive)), None, None
        pairs = read_array(archive, "edge_index")
        weight = read_array(archive, "edge_weight") if archive.has("edge_weight.npy") else None
        return edges_of_arrays(path, pairs, weight), None, None


def _features(name: str | Path | None, inside: Any, edges: Path) -> tuple[list[str] | None, Any]:
    """Ids of the rows (``None`` where rows are numbered) and the matrix (``None`` if there is none)."""
    if name is None:
        _check_finite(inside, edges.name)
        return None, inside
    path = _existing(name)
    if is_table(path):
        table = read_own_table(path, (2, 10**9), "id,number,number,...")
        table = table.without_header(lambda cells: not all(_is_number(c) for c in cells[1:]))
        width = len(table.rows[0]) if table.rows else 0
        matrix = np.array(
            [[table.number(r, c) for c in range(1, width)] for r in range(len(table.rows))],
            dtype=np.float32,
        )
        seen: dict[str, int] = {}
        for row, cells in enumerate(table.rows):
            if not cells[0]:
                raise InputError(f"{table.where(row)}: the node has no id")
            if seen.setdefault(cells[0], row) != row:
                raise InputError(f"{table.where(row)}: node {cells[0]!r} has a row already")
        return list(seen), matrix
    if path.suffix.lower() == ".npy":
        loaded: Any = _load_array(path)
    elif path.suffix.lower() == ".npz":
        with Archive(path) as archive:
            loaded = read_csr(archive, "attr_" if archive.has("attr_data.npy") else "")
    else:
        raise InputError(
            f"features are read from .csv, .tsv, .parquet, .npy, .npz, not {path.name}"
        )
    if loaded.ndim != 2:
        raise InputError(f"{path.name} has shape {loaded.shape}; features are nodes x features")
    _check_finite(loaded, path.name)
    return None, loaded


def _check_finite(matrix: Any, file: str) -> None:
    if matrix is None:
        return
    values = matrix.data if scipy.sparse.issparse(matrix) else matrix
    if values.dtype.kind not in "biuf":
        raise InputError(f"{file}: features are of type {values.dtype}, not numbers")
    if not np.isfinite(values).all():
        raise InputError(f"{file}: a feature is NaN or infinite; remove or replace it")


def _load_array(path: Path) -> np.ndarray:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path.name} is not a plain numpy array ({error})") from error


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _identity(count: int) -> Tensor:
    rows = torch.arange(count + 1)
    return csr_tensor(rows, torch.arange(count), torch.ones(count), (count, count))
