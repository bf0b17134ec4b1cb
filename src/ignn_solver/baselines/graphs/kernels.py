"""Support vector machines on graph kernels: what the kernels share."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.svm import SVC

from ...errors import InputError

if TYPE_CHECKING:
    from torch_geometric.data import InMemoryDataset

CANDIDATES = tuple(10.0**power for power in range(-3, 4))
"""Values of the SVM's C, among which the protocol chooses."""

_matrices: weakref.WeakKeyDictionary[Any, dict[str, np.ndarray]] = weakref.WeakKeyDictionary()


def import_grakel() -> Any:
    """The module ``grakel``, or a sentence on how to get it."""
    try:
        import grakel
    except ImportError as error:
        raise InputError(
            "graph kernels need grakel: install it with pip install 'ignn-solver[kernels]'"
        ) from error
    return grakel


def to_grakel(graphs: Iterable[Any]) -> list[Any]:
    """PyG graphs as grakel's; a node's label is the number of its feature vector among all of them.

    Features are one-hot labels here, so that this is the label itself, with its degree or its edge
    labels where the features say so.
    """
    Graph = import_grakel().Graph
    graphs = list(graphs)
    rows = np.concatenate([graph.x.numpy() for graph in graphs])
    labels = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    result, start = [], 0
    for graph in graphs:
        size = graph.num_nodes
        edges = set(map(tuple, graph.edge_index.T.tolist()))
        # An edge dictionary cannot name isolated nodes; an empty one gives every node its place.
        edges_of: dict[int, dict[int, float]] = {node: {} for node in range(size)}
        for one, other in edges:
            edges_of[one][other] = edges_of[other][one] = 1.0
        names = {node: int(labels[start + node]) for node in range(size)}
        result.append(Graph(edges_of, node_labels=names, graph_format="all"))
        start += size
    return result


class KernelSVM:
    """A support vector machine on a graph kernel, fitted once for each C of ``CANDIDATES``.

    The kernel matrix of a dataset is computed once, without labels, and serves every fold.
    """

    name = ""

    def __init__(self) -> None:
        self.machines: list[SVC] = []
        self.train = np.empty(0, dtype=np.int64)
        self.matrix = np.empty((0, 0))

    def kernel(self) -> Any:
        """The grakel kernel."""
        raise TypeError(f"{type(self).__name__} does not define a kernel")

    def key(self) -> str:
        """What the kernel matrix depends on, besides the dataset."""
        return repr(self.kernel())

    def kernel_matrix(self, dataset: InMemoryDataset) -> np.ndarray:
        """The normalised kernel between all graphs of a dataset, ``graphs x graphs``."""
        kept = _matrices.setdefault(dataset, {})
        if self.key() not in kept:
            with warnings.catch_warnings():
                # grakel announces that it changes its own format of a graph.
                warnings.filterwarnings("ignore", "changing format", UserWarning)
                graphs = to_grakel(dataset[i] for i in range(len(dataset)))
                kept[self.key()] = self.kernel().fit_transform(graphs)
        return kept[self.key()]

    def fit(self, dataset: InMemoryDataset, train: np.ndarray) -> None:
        """Fit every candidate on the training graphs' numbers."""
        labels = dataset._data.y.flatten().numpy()
        self.matrix, self.train = self.kernel_matrix(dataset), np.asarray(train)
        gram = self.matrix[np.ix_(self.train, self.train)]
        self.machines = [
            SVC(C=c, kernel="precomputed", max_iter=100_000).fit(gram, labels[self.train])
            for c in CANDIDATES
        ]

    def predict(self, graphs: np.ndarray) -> np.ndarray:
        """The class of each of these graphs by each candidate, ``candidates x graphs``."""
        rows = self.matrix[np.ix_(np.asarray(graphs), self.train)]
        return np.stack([machine.predict(rows) for machine in self.machines])
