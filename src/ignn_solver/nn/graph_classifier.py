"""The implicit graph classifier: equilibria of whole batches of graphs, pooled and classified."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from ..equilibrium import EquilibriumMap
from ..errors import InputError
from ..solving import Solution, Solver, solve
from . import folding
from .base import GraphClassifier
from .classifiers import WarmStart
from .conv import IGNNConv
from .explicit import Hop, neighbours
from .graph_prediction import GraphPrediction, prove
from .pooling import Pooling, check_batch

if TYPE_CHECKING:
    import numpy as np
    from torch_geometric.data import Batch

    from ..adjacency import Adjacency

_EVALUATION_TOL = 1e-3
#: From the number of a layer, the layer and its input to its equilibrium.
_Equilibrium = Callable[[int, IGNNConv, Tensor], Tensor]


class GraphIGNN(GraphClassifier):
    r"""An implicit graph network for classifying graphs.

    :math:`h_0 = X`, then ``hops`` explicit hops :math:`h_l`; then ``layers`` equilibria
    :math:`z_l = \sigma(\hat A z_l W_l + b_l(z_{l-1}))`, normalised over the batch; what is pooled over
    the nodes of each graph goes through two linear layers.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the node states.
        num_classes: Classes.
        kappa: Contraction factor, strictly between 0 and 1.
        layers: Implicit layers, at least one.
        hops: Explicit hops before them: they count neighbours, which a normalised adjacency does not.
        normalization: Whether to normalise the states over the batch.
        pooling: ``"sum"``, ``"mean"`` or ``"attention"``.
        jumping: Whether the head reads every hop and layer, not only the last.
        dropout: Dropout before the last linear layer, in training.
        **options: Passed to :class:`IGNNConv`: ``parametrization``, ``propagate_input``, ``tol``, ...

    Example:
        >>> model = GraphIGNN(7, 32, 2, kappa=0.8, layers=2)
        >>> model.num_classes
        2
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        kappa: float = 0.9,
        layers: int = 1,
        hops: int = 0,
        normalization: bool = True,
        pooling: str = "sum",
        jumping: bool = True,
        dropout: float = 0.5,
        **options: Any,
    ) -> None:
        super().__init__(
            in_channels, hidden_channels, num_classes,
            kappa=kappa, layers=layers, hops=hops, normalization=normalization, pooling=pooling,
            jumping=jumping, dropout=dropout, **options,
        )  # fmt: skip
        if hops < 0:
            raise InputError(f"hops must be at least 0, not {hops}")
        self.pooling, self.jumping = pooling, jumping
        width = hidden_channels
        widths = [in_channels] + [width] * (hops + layers)
        self.hops = nn.ModuleList(Hop(widths[i], width) for i in range(hops))
        self.convs = nn.ModuleList(
            IGNNConv(widths[hops + i], width, kappa, **options) for i in range(layers)
        )
        self.norms = nn.ModuleList(
            nn.BatchNorm1d(width) if normalization else nn.Identity() for _ in range(layers)
        )
        read = widths if jumping else widths[-1:]
        self.poolings = nn.ModuleList(Pooling(pooling, size) for size in read)
        # Sums over nodes grow with the graph; without this the head would see wild scales.
        read_norm = nn.BatchNorm1d(sum(read)) if normalization else nn.Identity()
        self.head = nn.Sequential(
            read_norm,
            nn.Linear(sum(read), width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, num_classes),
        )
        #: Set in training: solves start from the last epoch's equilibria of the same batch.
        self.warm_start: WarmStart | None = None

    @property
    def implicit_layers(self) -> list[IGNNConv]:
        """The implicit layers, first to last."""
        return cast(list[IGNNConv], list(self.convs))

    def forward(self, batch: Batch) -> Tensor:
        """The score of each class for each graph, ``num_graphs x num_classes``.

        With gradients the equilibria are solved to the ``tol`` of the layers; without, at least to 1e-3.
        """
        if not torch.is_grad_enabled():
            pooled = self._pooled(batch, lambda _, conv, x: self._solved(batch, conv, x).value)
            return self._classified(pooled)
        warm = self.warm_start if self.training else None
        rows = batch.x.shape[0]

        def equilibrium(layer: int, conv: IGNNConv, x: Tensor) -> Tensor:
            z: Tensor = conv(
                x,
                batch.edge_index,
                batch.edge_weight,
                batch.batch,
                start=None if warm is None else warm.get(f"forward{layer}", rows),
                backward_start=None if warm is None else warm.get(f"backward{layer}", rows),
            )
            if warm is not None and conv.last_solution is not None:
                warm.states[f"forward{layer}"] = conv.last_solution.value
            return z

        return cast(Tensor, self.head(self._pooled(batch, equilibrium)))

    def _pooled(self, batch: Batch, equilibrium: _Equilibrium) -> Tensor:
        """What the head reads, ``num_graphs x channels``."""
        graph, num_graphs = check_batch(batch, self.in_channels)
        if self.pooling != "attention" and folding.folds(batch.x, self):
            adjacency = self._adjacency(batch, self.implicit_layers[0])
            blocks = folding.blocks_of(adjacency.blocks, adjacency.num_nodes)
            if blocks is not None:
                return self._pooled_folded(batch, equilibrium, adjacency, blocks)
        states = [batch.x]
        for hop in self.hops:
            states.append(hop(states[-1], neighbours(batch.edge_index, batch.num_nodes)))
        for layer, (conv, norm) in enumerate(zip(self.implicit_layers, self.norms, strict=True)):
            states.append(norm(equilibrium(layer, conv, states[-1])))
        read = states if self.jumping else states[-1:]
        pooled = [
            pool(state, graph, num_graphs) for pool, state in zip(self.poolings, read, strict=True)
        ]
        return torch.cat(pooled, -1)

    def _pooled_folded(
        self, batch: Batch, equilibrium: _Equilibrium, adjacency: Adjacency, blocks: np.ndarray
    ) -> Tensor:
        """The same for inference, in fewer passes over memory."""
        sizes = adjacency.graph_sizes.to(batch.x.dtype).unsqueeze(1)
        first_nodes = adjacency.first_nodes
        assert first_nodes is not None  # check_batch refuses graphs without a node

        def pooled(state: Tensor) -> Tensor:
            total = folding.sums(state, first_nodes)
            return total.div_(sizes) if self.pooling == "mean" else total

        state, found = batch.x, [pooled(batch.x)]
        adjacent = neighbours(batch.edge_index, batch.num_nodes)
        for hop in self.hops:
            state = folding.hop(cast(Hop, hop), state, adjacent, blocks)
            found.append(pooled(state))
        last = len(self.convs) - 1
        for layer, (conv, norm) in enumerate(zip(self.implicit_layers, self.norms, strict=True)):
            state = equilibrium(layer, conv, state)
            total = pooled(state)
            known = folding.scale_and_shift(norm)
            if known is not None:
                # Of n nodes the shift is added n times.
                times = known[1] if self.pooling == "mean" else sizes * known[1]
                total = total.mul_(known[0]).add_(times)
            found.append(total)
            state = state if layer == last else norm(state)
        return torch.cat(found, -1) if self.jumping else found[-1]

    def _classified(self, pooled: Tensor) -> Tensor:
        """The score of each class for each graph from what the head reads."""
        if not folding.folds(pooled, self.head):
            return cast(Tensor, self.head(pooled))
        norm, first, _, _, second = self.head
        assert isinstance(first, nn.Linear)
        assert isinstance(second, nn.Linear)
        hidden = folding.affine(pooled, folding.affine_of(first, before=norm), rectifies=True)
        return folding.affine(hidden, folding.affine_of(second))

    def remember_backward(self) -> None:
        """Keep the backward equilibria for the next epoch; called after the backward pass."""
        for layer, conv in enumerate(self.implicit_layers):
            backward = conv.last_backward
            if self.warm_start is not None and backward and backward.solution is not None:
                self.warm_start.states[f"backward{layer}"] = backward.solution.value

    def evaluations(self) -> tuple[int, int]:
        """Evaluations of f in the last forward and backward solves, over all layers."""
        layers = self.implicit_layers
        forward = sum(c.last_solution.num_evals for c in layers if c.last_solution is not None)
        backward = sum(
            c.last_backward.solution.num_evals
            for c in layers
            if c.last_backward is not None and c.last_backward.solution is not None
        )
        return forward, backward

    @torch.no_grad()
    def predict(
        self,
        batch: Batch,
        *,
        solver: Solver | Sequence[Solver] | None = None,
        tol: float = 1e-3,
        max_evals: int = 1000,
        on_failure: str = "warn",
        certify: bool = False,
    ) -> GraphPrediction:
        """Classify every graph of a batch.

        Args:
            batch: The graphs, as a PyG ``Batch``.
            solver: How to solve for the equilibria: one solver, or one for each implicit layer; plain
                iteration by default.
            tol: Tolerance on the relative residual of each graph.
            max_evals: Limit of evaluations of f in each layer.
            on_failure: ``"raise"``, ``"warn"`` or ``"return"``.
            certify: Whether to prove, graph by graph, that the class is that of the exact equilibrium;
                for one implicit layer, and sum or mean pooling.
        """
        if certify and len(self.convs) > 1:
            raise InputError(
                "only a model with one implicit layer can be certified: leave certify out"
            )
        solvers = list(solver) if isinstance(solver, Sequence) else [solver] * len(self.convs)
        if len(solvers) != len(self.convs):
            raise InputError(
                f"{len(solvers)} solvers for {len(self.convs)} implicit layers: give one, or one each"
            )
        solutions: list[Solution] = []
        maps: list[EquilibriumMap] = []

        def equilibrium(layer: int, conv: IGNNConv, x: Tensor) -> Tensor:
            maps.append(self._layer_map(batch, conv, x))
            options = {"tol": tol, "max_evals": max_evals, "on_failure": on_failure}
            solutions.append(solve(maps[-1], solvers[layer], **options))  # type: ignore[arg-type]
            return solutions[-1].value

        with self._evaluating():
            pooled = self._pooled(batch, equilibrium)
            scores = self._classified(pooled)
            found = GraphPrediction(scores.argmax(-1), scores.softmax(-1), tuple(solutions))
            if certify:
                found = prove(found, maps[0], self.norms[0], self.pooling, pooled, self.head)
        return found

    @torch.no_grad()
    def scores(self, batch: Batch, solved: Callable[[EquilibriumMap], Tensor]) -> Tensor:
        """The score of each class for each graph, from equilibria found by any means.

        Args:
            batch: The graphs.
            solved: From the map of a layer to its equilibrium, such as a solver of another library.
        """
        with self._evaluating():
            pooled = self._pooled(batch, lambda _, conv, x: solved(self._layer_map(batch, conv, x)))
            return self._classified(pooled)

    def equilibrium_maps(self, batch: Batch, tol: float = 1e-5) -> list[EquilibriumMap]:
        """The map of each implicit layer on these graphs: what a learned solver is trained on.

        A layer's input is the equilibrium of the layer before, solved to ``tol``.
        """
        maps: list[EquilibriumMap] = []

        def solved(f: EquilibriumMap) -> Tensor:
            maps.append(f)
            return solve(f, tol=tol).value

        self.scores(batch, solved)
        return maps

    def equilibrium_map(self, batch: Batch) -> EquilibriumMap:
        """The map of a model with one implicit layer: what ``fit_solver`` asks for."""
        if len(self.convs) > 1:
            raise InputError(
                f"the model has {len(self.convs)} implicit layers: take one of equilibrium_maps"
            )
        return self.equilibrium_maps(batch)[0]

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        """Evaluation mode, whatever the mode is now."""
        if not any(module.training for module in self.modules()):
            yield
            return
        training = self.training
        self.eval()
        try:
            yield
        finally:
            self.train(training)

    def _solved(self, batch: Batch, conv: IGNNConv, x: Tensor) -> Solution:
        f = self._layer_map(batch, conv, x)
        tol = min(conv.tol, _EVALUATION_TOL)
        conv.last_solution = solve(f, conv.solver, tol=tol, max_evals=conv.max_evals)
        return conv.last_solution

    @staticmethod
    def _adjacency(batch: Batch, conv: IGNNConv) -> Adjacency:
        return conv.adjacency(batch.edge_index, batch.edge_weight, batch.x.shape[0], batch.batch)

    @classmethod
    def _layer_map(cls, batch: Batch, conv: IGNNConv, x: Tensor) -> EquilibriumMap:
        return conv.equilibrium_map(x, cls._adjacency(batch, conv)).detach()
