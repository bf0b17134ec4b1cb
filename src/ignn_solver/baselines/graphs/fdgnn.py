"""FDGNN: Gallicchio and Micheli, "Fast and deep graph neural networks", AAAI 2020."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch

from ...adjacency import Adjacency
from ...equilibrium import Contraction, EquilibriumMap
from ...errors import InputError
from ...nn.explicit import neighbours
from ...nn.pooling import sum_nodes
from ...solving import solve

if TYPE_CHECKING:
    from torch_geometric.data import InMemoryDataset

CANDIDATES = tuple(10.0**power for power in range(-5, 4))
"""Values of the ridge regularisation, among which the protocol chooses."""


class FDGNN:
    r"""A `deep reservoir <https://arxiv.org/abs/1911.08941>`_ on graphs: nothing is trained but a linear readout.

    Layer l is the fixed point :math:`Z_l = \tanh(M Z_l \hat W_l + Z_{l-1} U_l)`, M the plain adjacency, with
    random weights; :math:`\hat W_l` is scaled to spectral radius ``radius`` over the largest degree. The sum
    of the last states is expanded by a random tanh layer, on which ridge regression predicts the class.

    Args:
        units: Width of each layer.
        layers: Layers.
        expansion: Width of the random layer before the readout.
        radius: Effective spectral radius of the recurrent weights; below 1 states forget their start.
        scale: Scale of the input weights.
        seed: Draws the weights.
    """

    def __init__(
        self,
        units: int = 50,
        layers: int = 3,
        expansion: int = 500,
        radius: float = 0.9,
        scale: float = 1.0,
        seed: int = 0,
    ) -> None:
        if min(units, layers, expansion) < 1 or not 0 < radius < 1:
            raise InputError(
                f"a reservoir needs units, layers and an expansion of at least 1 and a radius between 0 "
                f"and 1, not {units}, {layers}, {expansion} and {radius}"
            )
        self.units, self.layers, self.expansion = units, layers, expansion
        self.radius, self.scale, self.seed = radius, scale, seed
        self.features = np.empty((0, 0))
        self.readouts: list[np.ndarray] = []

    def embed(self, batch: Batch) -> Tensor:
        """The sum of the last layer's states over each graph, ``num_graphs x units``, float64."""
        generator = torch.Generator().manual_seed(self.seed)

        def draw(rows: int, columns: int, size: float) -> Tensor:
            entries = torch.rand(rows, columns, generator=generator, dtype=torch.float64)
            return size * (2 * entries - 1)

        adjacent = neighbours(batch.edge_index, batch.num_nodes).to(torch.float64)
        degree = adjacent.rowptr.diff()
        adjacency = Adjacency(adjacent, degree, batch.batch, batch.num_graphs)
        z = batch.x.to(torch.float64)
        for _ in range(self.layers):
            inputs = draw(z.shape[1], self.units, self.scale)
            recurrent = draw(self.units, self.units, 1.0)
            size = torch.linalg.eigvals(recurrent).abs().amax() * degree.max()
            weight = recurrent * (self.radius / size)
            f = EquilibriumMap(adjacency, weight, z @ inputs, Contraction(math.inf), "tanh")
            # The spectral radius bounds the rate only in the end; fifty steps are the paper's limit.
            z = solve(f, tol=1e-5, max_evals=50, on_failure="return").value
        return sum_nodes(z, batch.batch, batch.num_graphs)

    def fit(self, dataset: InMemoryDataset, train: np.ndarray) -> None:
        """Embed all graphs, without labels, and fit the readout of every candidate on the training ones."""
        batch = Batch.from_data_list([dataset[i] for i in range(len(dataset))])
        pooled = self.embed(batch).numpy()
        labels = dataset._data.y.flatten().numpy()
        rows = np.asarray(train)
        random = np.random.default_rng(self.seed)
        mean, spread = pooled[rows].mean(0), pooled[rows].std(0)
        pooled = (pooled - mean) / np.where(spread > 0, spread, 1)
        expand = random.uniform(-1, 1, (self.units, self.expansion)) / np.sqrt(self.units)
        hidden = np.tanh(pooled @ expand)
        self.features = np.concatenate([hidden, np.ones((len(hidden), 1))], axis=1)
        known = self.features[rows]
        target = 2.0 * np.eye(int(labels.max()) + 1)[labels[rows]] - 1
        gram, right = known.T @ known, known.T @ target
        eye = np.eye(gram.shape[0])
        self.readouts = [np.linalg.solve(gram + ridge * eye, right) for ridge in CANDIDATES]

    def predict(self, graphs: np.ndarray) -> np.ndarray:
        """The class of each of these graphs by each candidate, ``candidates x graphs``."""
        rows = self.features[np.asarray(graphs)]
        return np.stack([(rows @ readout).argmax(-1) for readout in self.readouts])
