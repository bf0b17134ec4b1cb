"""The implicit graph layer, shaped like a layer of PyTorch Geometric."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..adjacency import Adjacency
from ..adjoint import BackwardSolve, implicit
from ..cache import TensorCache
from ..equilibrium import EquilibriumMap, check_activation
from ..solving import Solution, Solver, solve
from .features import FeatureLinear, check_features
from .parametrize import parametrization as make_weight

_adjacencies: TensorCache[Adjacency] = TensorCache()


class IGNNConv(nn.Module):
    r"""The implicit layer of `"Implicit Graph Neural Networks" <https://arxiv.org/abs/2009.06211>`_.

    Its output is the fixed point :math:`Z^\star` of

    .. math::
        f(Z) = \sigma(\hat A Z W + b), \qquad b = X \Omega + \text{bias} \quad
        (\text{or } \hat A (X \Omega + \text{bias}))

    with :math:`\hat A` the symmetric-normalised adjacency with self-loops, and W written so that f
    contracts by :math:`\kappa`. Gradients come from implicit differentiation.

    Args:
        in_channels: Features of a node.
        out_channels: Width d of the node states.
        kappa: Contraction factor, strictly between 0 and 1: larger reaches farther and solves slower.
        parametrization: How W is written: ``"cayley"``, ``"projection"`` or ``"symmetric"``.
        activation: ``"relu"``, ``"tanh"`` or ``"sigmoid"``.
        propagate_input: Whether b passes through the graph once, as in IGNN's released code.
        bias: Whether b has a bias.
        dropout: Dropout on the features, in training.
        unit_features: Whether a node's features are scaled to length 1 first.
        undirected: Whether to use every edge in both directions.
        solver: The forward solver; plain iteration by default.
        backward_solver: The backward solver; plain iteration by default.
        tol: Tolerance on the relative residual in training, forward; a tenth of it backward.
        max_evals: Limit of evaluations of each solve.

    Shapes:
        - **x:** node features, ``n x in_channels``, dense or sparse CSR
        - **edge_index:** ``2 x edges``; **edge_weight:** ``edges``, optional
        - **output:** node states, ``n x out_channels``

    Example:
        >>> import torch
        >>> conv = IGNNConv(4, 8)
        >>> conv(torch.ones(3, 4), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kappa: float = 0.9,
        *,
        parametrization: str = "cayley",
        activation: str = "relu",
        propagate_input: bool = False,
        bias: bool = True,
        dropout: float = 0.0,
        unit_features: bool = False,
        undirected: bool = True,
        solver: Solver | None = None,
        backward_solver: Solver | None = None,
        tol: float = 1e-3,
        max_evals: int = 300,
    ) -> None:
        super().__init__()
        check_activation(activation)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.activation = activation
        self.propagate_input = propagate_input
        self.undirected = undirected
        self.solver = solver
        self.backward_solver = backward_solver
        self.tol = tol
        self.max_evals = max_evals
        self.weight = make_weight(parametrization, out_channels, kappa)
        self.input = FeatureLinear(in_channels, out_channels, bias, dropout, unit_features)
        #: The last solve, forward and backward: what it took, and where the next one may start.
        self.last_solution: Solution | None = None
        self.last_backward: BackwardSolve | None = None

    def reset_parameters(self) -> None:
        """Draw every weight anew."""
        self.weight.reset_parameters()
        self.input.reset_parameters()

    def adjacency(
        self,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        num_nodes: int | None = None,
        batch: Tensor | None = None,
    ) -> Adjacency:
        """The adjacency of these edges; kept for as long as they live unchanged."""
        dtype = self.input.weight.dtype

        def build() -> Adjacency:
            return Adjacency.from_edge_index(
                edge_index,
                edge_weight,
                num_nodes,
                undirected=self.undirected,
                batch=batch,
                dtype=dtype,
            )

        if edge_weight is not None and edge_weight.requires_grad:
            return build()
        tensors = tuple(one for one in (edge_index, edge_weight, batch) if one is not None)
        key = (num_nodes, self.undirected, dtype, edge_weight is None, batch is None)
        return _adjacencies.get(tensors, build, key)

    def equilibrium_map(self, x: Tensor, adjacency: Adjacency) -> EquilibriumMap:
        """The map f for these features on this graph."""
        check_features(x, adjacency.num_nodes, self.in_channels)
        self.weight.project_()
        injected = self.input(x)
        if self.propagate_input:
            injected = adjacency.matmul(injected)
        return EquilibriumMap(
            adjacency, self.weight(), injected, self.weight.contraction, self.activation, x
        )

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_weight: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        start: Tensor | None = None,
        backward_start: Tensor | None = None,
    ) -> Tensor:
        """The equilibrium states of the nodes.

        Args:
            x: Node features, ``n x in_channels``.
            edge_index: ``2 x edges``.
            edge_weight: Non-negative weights, ``edges``.
            batch: The graph each node belongs to, for a batch of graphs.
            start: Where to start the forward solve, ``n x out_channels``.
            backward_start: Where to start the backward solve.
        """
        adjacency = self.adjacency(edge_index, edge_weight, x.shape[0], batch)
        f = self.equilibrium_map(x, adjacency)
        options = {"tol": self.tol, "max_evals": self.max_evals}
        self.last_solution = solve(f.detach(), self.solver, start, **options)  # type: ignore[arg-type]
        if not torch.is_grad_enabled():
            return self.last_solution.value
        self.last_backward = BackwardSolve(
            self.backward_solver, self.tol / 10, self.max_evals, start=backward_start
        )
        return implicit(f, self.last_solution.value, self.last_backward)

    def extra_repr(self) -> str:
        """Channels and activation."""
        return f"{self.in_channels}, {self.out_channels}, activation={self.activation}"
