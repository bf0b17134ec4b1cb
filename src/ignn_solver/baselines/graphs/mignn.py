"""MIGNN for graphs: Baker et al., "Implicit graph neural networks: a monotone operator viewpoint", ICML 2023."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from torch import Tensor, nn

from ...nn.base import GraphClassifier
from ..mignn import WEIGHTS, SignedCayley, SkewMonotone
from ..splitting import Splitting, monotone_equilibrium
from .common import SumReadout, batch_adjacency, check_batch

if TYPE_CHECKING:
    from torch_geometric.data import Batch


class GraphMIGNN(GraphClassifier):
    r"""The `monotone implicit network <https://proceedings.mlr.press/v202/baker23a.html>`_ in IGNN's set-up.

    Layers :math:`Z = \text{relu}(\hat A Z W + \hat A X \Omega)` with W orthogonal or only monotone, solved
    by operator splitting, normalised over the batch; the sum of the last states goes to the head.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the node states.
        num_classes: Classes.
        kappa: Limit of the norm of W (``"cayley"``) or of its symmetric part (``"skew"``).
        layers: Implicit layers.
        parametrization: ``"cayley"`` or ``"skew"``.
        splitting: ``"forward-backward"`` or ``"peaceman-rachford"``.
        dropout: Dropout before the last layer, in training.
        tol: Tolerance on the relative change of a step; a tenth of it backward.
        max_evals: Limit of steps of each solve.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        kappa: float = 0.9,
        layers: int = 3,
        parametrization: str = "cayley",
        splitting: str = "forward-backward",
        dropout: float = 0.5,
        tol: float = 1e-3,
        max_evals: int = 300,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes, kappa=kappa, layers=layers,
            parametrization=parametrization, splitting=splitting, dropout=dropout, tol=tol,
            max_evals=max_evals,
        )  # fmt: skip
        widths = [in_channels] + [hidden_channels] * layers
        self.inputs = nn.ModuleList(nn.Linear(width, hidden_channels) for width in widths[:-1])
        weight = WEIGHTS[parametrization]
        self.weights = nn.ModuleList(weight(hidden_channels, kappa) for _ in range(layers))
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden_channels) for _ in range(layers))
        self.readout = SumReadout(hidden_channels, num_classes, dropout)
        self._solves: list[Splitting] = []

    def forward(self, batch: Batch) -> Tensor:
        """The score of each class for each graph, ``num_graphs x num_classes``."""
        graph, num_graphs = check_batch(batch, self.in_channels)
        adjacency = batch_adjacency(batch, batch.x.dtype)
        self._solves = []
        x = batch.x
        for embed, make, norm in zip(self.inputs, self.weights, self.norms, strict=True):
            parametrized = cast(SignedCayley | SkewMonotone, make)
            weight = parametrized()
            size, monotone = parametrized.bounds(weight)
            options = (self.config["tol"], self.config["max_evals"])
            self._solves.append(Splitting(self.config["splitting"], size, monotone, *options))
            bias = adjacency.matmul(embed(x))
            x = norm(monotone_equilibrium(weight, bias, adjacency, self._solves[-1]))
        scores: Tensor = self.readout(x, graph, num_graphs)
        return scores

    def evaluations(self) -> tuple[int, int]:
        """Products with the adjacency in the last forward and backward solves, over all layers."""
        forward = sum(one.products[0] for one in self._solves)
        return forward, sum(one.products[1] for one in self._solves)
