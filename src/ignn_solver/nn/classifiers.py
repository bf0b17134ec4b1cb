"""The implicit node classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..cache import LastMade
from ..equilibrium import EquilibriumMap
from ..errors import InputError
from ..solving import Solution, Solver, Status
from ..updates import GraphChange, changed_map
from .base import NodeClassifier
from .conv import IGNNConv
from .prediction import Prediction, Proof, predict_nodes, reclassify

if TYPE_CHECKING:
    from torch_geometric.data import Data

#: W of the latest update: writing it takes longer than looking whether it would be the same.
_weights: LastMade[Tensor] = LastMade()


@dataclass
class WarmStart:
    """Equilibria of the last epoch: where the next epoch's solves start."""

    states: dict[str, Tensor] = field(default_factory=dict)

    def keep(self, name: str, solution: Solution) -> None:
        """Start from this solution next time, unless it is not finite: that would spoil every epoch."""
        if solution.status is Status.NON_FINITE:
            self.states.pop(name, None)
        else:
            self.states[name] = solution.value

    def get(self, name: str, rows: int) -> Tensor | None:
        """The state called ``name`` if it has this many rows."""
        found = self.states.get(name)
        return found if found is not None and found.shape[0] == rows else None


class IGNN(NodeClassifier):
    r"""An implicit graph network for classifying nodes: equilibrium states, then a linear head.

    :math:`\text{scores} = Z^\star V + c` with :math:`Z^\star = \sigma(\hat A Z^\star W + b(X))`.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the node states.
        num_classes: Classes.
        kappa: Contraction factor, strictly between 0 and 1.
        dropout: Dropout on the states before the head, in training.
        input_dropout: Dropout on the features, in training; as ``dropout`` by default.
        **options: Passed to :class:`IGNNConv`: ``parametrization``, ``activation``,
            ``propagate_input``, ``unit_features``, ``tol``, ``max_evals``, ...

    Example:
        >>> model = IGNN(64, 32, 10, kappa=0.8)
        >>> model.num_classes
        10
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        kappa: float = 0.9,
        dropout: float = 0.5,
        input_dropout: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes,
            kappa=kappa, dropout=dropout, input_dropout=input_dropout, **options,
        )  # fmt: skip
        self.dropout = dropout
        drop = dropout if input_dropout is None else input_dropout
        self.conv = IGNNConv(in_channels, hidden_channels, kappa, dropout=drop, **options)
        self.head = nn.Linear(hidden_channels, num_classes)
        #: Set by ``fit``: solves of an epoch start from the last epoch's equilibria.
        self.warm_start: WarmStart | None = None

    def reset_parameters(self) -> None:
        """Draw every weight anew."""
        self.conv.reset_parameters()
        self.head.reset_parameters()

    def equilibrium_map(self, data: Data) -> EquilibriumMap:
        """The map f whose fixed point are the states of these nodes."""
        check_graph(data)
        adjacency = self.conv.adjacency(
            data.edge_index, data.edge_weight, data.num_nodes, data.batch
        )
        return self.conv.equilibrium_map(data.x, adjacency)

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        check_graph(data)
        warm = self.warm_start
        mode = "train" if self.training else "eval"
        rows = data.num_nodes
        z = self.conv(
            data.x,
            data.edge_index,
            data.edge_weight,
            data.batch,
            start=None if warm is None else warm.get(f"{mode}_forward", rows),
            backward_start=None if warm is None else warm.get("train_backward", rows),
        )
        if warm is not None and self.conv.last_solution is not None:
            warm.keep(f"{mode}_forward", self.conv.last_solution)
        return self.head(F.dropout(z, self.dropout, self.training))

    def remember_backward(self) -> None:
        """Keep the backward equilibrium for the next epoch; called after the backward pass."""
        backward = self.conv.last_backward
        if self.warm_start is not None and backward is not None and backward.solution is not None:
            self.warm_start.keep("train_backward", backward.solution)

    def evaluations(self) -> tuple[int, int]:
        """Evaluations of f in the last forward and backward solve."""
        forward, backward = self.conv.last_solution, self.conv.last_backward
        solved = None if backward is None else backward.solution
        return (
            0 if forward is None else forward.num_evals,
            0 if solved is None else solved.num_evals,
        )

    @torch.no_grad()
    def predict(
        self,
        data: Data,
        *,
        solver: Solver | None = None,
        tol: float | None = None,
        max_evals: int = 1000,
        on_failure: str = "warn",
        certify: bool | str = False,
        stop: str = "residual",
        fraction: float = 0.99,
        nodes: Tensor | Sequence[int] | None = None,
    ) -> Prediction:
        """Classify every node.

        Args:
            data: The graph, with ``x`` and ``edge_index``.
            solver: How to solve for the equilibrium; plain iteration by default.
            tol: Tolerance on the relative residual, 1e-3 by default. With ``stop="certified"``, where to
                give up: by default close to the rounding error.
            max_evals: Limit of evaluations of f.
            on_failure: ``"raise"``, ``"warn"`` or ``"return"``, for the solve and for the proof.
            certify: Whether to prove, node by node, that the class is that of the exact equilibrium;
                ``"exact"`` evaluates f once more, in float64, for tighter bounds.
            stop: ``"certified"`` stops when the classes of enough nodes are proven.
            fraction: The share of the nodes to prove before stopping.
            nodes: The nodes that matter for stopping, a mask or ids; all by default.
        """
        proof = Proof(certify, stop, fraction, nodes)
        training = self.training
        self.eval()
        try:
            f = self.equilibrium_map(data).detach()
            return predict_nodes(f, self.head, solver, tol, max_evals, on_failure, proof)
        finally:
            self.train(training)

    @torch.no_grad()
    def update(
        self,
        prediction: Prediction,
        change: GraphChange,
        *,
        tol: float = 1e-3,
        in_place: bool = False,
        certify: bool | str = False,
        on_failure: str = "warn",
    ) -> Prediction:
        """The prediction after a change of some features, edges or nodes, at the cost of the change.

        It starts from the old equilibrium and evaluates only the nodes whose residual has become too
        large, spreading along edges. See ``docs/certificates.md``.

        Args:
            prediction: What ``predict`` (or ``update``) gave before the change.
            change: The change.
            tol: Tolerance on the relative residual.
            in_place: Overwrite what ``prediction`` holds, and ``data.x``, instead of copying them; on a
                large graph the copies take longer than the update.
            certify: Whether to prove the classes, as in ``predict``; this looks at every node.
            on_failure: ``"raise"``, ``"warn"`` or ``"return"``.
        """
        written = self.conv.weight
        key = type(written), written.kappa
        weight = _weights.get(tuple(written.parameters()), written, key)
        if prediction.map is None or not torch.equal(prediction.map.weight, weight):
            raise InputError("the model is not the one that made this prediction: predict anew")
        training = self.training
        self.eval()
        try:
            f, changed = changed_map(
                prediction.map,
                change,
                self.conv.input,
                propagate=self.conv.propagate_input,
                in_place=in_place,
            )
            solution = prediction.solution.update(
                f, changed, tol=tol, in_place=in_place, on_failure=on_failure
            )
            return reclassify(
                prediction, f, self.head, solution, Proof(certify), on_failure, in_place
            )
        finally:
            self.train(training)


def check_graph(data: Data) -> None:
    """Raise an ``InputError`` unless ``data`` has nodes with features, and edges."""
    if data.x is None:
        raise InputError("the graph has no features: set data.x to a matrix with one row a node")
    if data.x.shape[0] == 0:
        raise InputError("the graph is empty: it needs at least one node")
    if data.edge_index is None:
        raise InputError("the graph has no edge_index: give the edges as a 2 x edges tensor")
