"""Graph classification sets in the text format of TUDataset (Morris et al., 2020)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from ..errors import InputError
from .archives import Archive
from .source import Parsed, Source
from .text import check_ids, read_column, read_table

VERSION = 1
_LARGEST_DEGREE = 32


class GraphDataset(InMemoryDataset):
    """Labelled graphs in memory: a PyG dataset with a name and a word on whether it is real."""

    def __init__(
        self, name: str, data: Data, slices: dict[str, Tensor], stand_in: str = ""
    ) -> None:
        super().__init__()
        self.name = name
        self.stand_in = stand_in
        self._data = data
        self.slices = slices


def parse(archive: Archive, source: Source) -> Parsed:
    """Read graph of each node, edges, graph labels, node labels and node attributes."""
    prefix = source.folder or source.name

    def column(ending: str) -> np.ndarray:
        name = archive.find(f"{prefix}_{ending}.txt")
        with archive.open(name) as stream:
            return read_column(stream, archive.label(name))

    graph = column("graph_indicator") - 1
    classes = column("graph_labels")
    indicator = archive.label(f"{prefix}_graph_indicator.txt")
    check_ids(graph, len(classes), indicator, "graph")
    backwards = np.flatnonzero(np.diff(graph) < 0)
    if backwards.size:
        raise InputError(f"{indicator}, line {backwards[0] + 2}: graphs must follow in order")
    edge_file = archive.find(f"{prefix}_A.txt")
    with archive.open(edge_file) as stream:
        edges = read_table(stream, archive.label(edge_file), columns=2) - 1
    check_ids(edges, len(graph), archive.label(edge_file))
    across = np.flatnonzero(graph[edges[:, 0]] != graph[edges[:, 1]])
    if across.size:
        raise InputError(
            f"{archive.label(edge_file)}, line {across[0] + 1}: the edge joins two graphs"
        )
    # Labels are any integers (-1 and 1, or 1 and 2): classes count from 0 in their order.
    tensors = {
        "graph": torch.from_numpy(graph),
        "y": torch.from_numpy(np.unique(classes, return_inverse=True)[1].astype(np.int64)),
        "edges": torch.from_numpy(edges[np.argsort(graph[edges[:, 0]], kind="stable")]),
    }
    if archive.has(f"{prefix}_node_labels.txt"):
        labels = column("node_labels")
        _same_length(labels, graph, archive, prefix, "node_labels")
        tensors["node_labels"] = torch.from_numpy(np.unique(labels, return_inverse=True)[1])
    if archive.has(f"{prefix}_node_attributes.txt"):
        name = archive.find(f"{prefix}_node_attributes.txt")
        with archive.open(name) as stream:
            attributes = read_table(stream, archive.label(name), dtype=np.float32)
        _same_length(attributes, graph, archive, prefix, "node_attributes")
        tensors["attributes"] = torch.from_numpy(attributes)
    return Parsed(tensors)


def _same_length(
    values: np.ndarray, graph: np.ndarray, archive: Archive, prefix: str, what: str
) -> None:
    if len(values) != len(graph):
        raise InputError(
            f"{archive.label(f'{prefix}_{what}.txt')} has {len(values)} rows but there are "
            f"{len(graph)} nodes; each node must have one"
        )


def build(
    parsed: Parsed,
    source: Source,
    split: str | None,
    seed: int,
    attributes: bool = True,
    degree: bool = False,
) -> GraphDataset:
    """Make the dataset; splits come from ``folds``.

    Features of a node: its one-hot label, then its attributes where the source has any (unless
    ``attributes=False``), then, with ``degree=True``, its one-hot degree (32 and more count as
    32). A source with none of these gets degrees.
    """
    if split is not None:
        raise InputError(f"{source.name} is split by folds(dataset, count, seed): leave split out")
    tensors = parsed.tensors
    graph, edges = tensors["graph"], tensors["edges"]
    columns = []
    if "node_labels" in tensors:
        columns.append(_one_hot(tensors["node_labels"]))
    if attributes and "attributes" in tensors:
        columns.append(tensors["attributes"])
    if degree or not columns:
        degrees = torch.bincount(edges[:, 0], minlength=len(graph)).clamp(max=_LARGEST_DEGREE)
        columns.append(_one_hot(degrees))
    nodes = torch.bincount(graph, minlength=len(tensors["y"]))
    node_slices = torch.cat([torch.zeros(1, dtype=torch.int64), nodes.cumsum(0)])
    entries = torch.bincount(graph[edges[:, 0]], minlength=len(tensors["y"]))
    edge_slices = torch.cat([torch.zeros(1, dtype=torch.int64), entries.cumsum(0)])
    local = edges - node_slices[graph[edges[:, 0]]][:, None]
    data = Data(x=torch.cat(columns, dim=1), edge_index=local.T.contiguous(), y=tensors["y"])
    slices = {
        "x": node_slices,
        "edge_index": edge_slices,
        "y": torch.arange(len(tensors["y"]) + 1),
    }
    return GraphDataset(source.name, data, slices, source.stand_in)


def _one_hot(values: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(values.long()).float()
