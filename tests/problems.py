"""Fixed points with known answers: small graphs, and independent dense ways to solve on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from ignn_solver.adjacency import Adjacency
from ignn_solver.equilibrium import Contraction, EquilibriumMap
from ignn_solver.nn.parametrize import PARAMETRIZATIONS, parametrization
from ignn_solver.solvers import Anderson, Broyden, Picard

DOUBLE = torch.float64
ACTIVATIONS = ("relu", "tanh", "sigmoid")
SOLVERS = {
    "picard": Picard(),
    "anderson": Anderson(),
    "anderson-safeguarded": Anderson(safeguard=True),
    "anderson-node": Anderson(scope="node"),
    "anderson-node-safeguarded": Anderson(scope="node", safeguard=True),
    "anderson-half": Anderson(history="half"),
    "anderson-half-safeguarded": Anderson(history="half", safeguard=True),
    "anderson-node-half-safeguarded": Anderson(history="half", scope="node", safeguard=True),
    "broyden": Broyden(),
    "broyden-half": Broyden(history="half"),
    "broyden-half-safeguarded": Broyden(history="half", safeguard=True),
    "broyden-safeguarded": Broyden(safeguard=True),
}


@dataclass(frozen=True)
class Graph:
    """Edges before any normalisation."""

    edge_index: Tensor
    num_nodes: int
    weight: Tensor | None = None
    undirected: bool = True
    batch: Tensor | None = None

    def adjacency(self, dtype: torch.dtype = DOUBLE) -> Adjacency:
        return Adjacency.from_edge_index(
            self.edge_index,
            self.weight,
            self.num_nodes,
            undirected=self.undirected,
            batch=self.batch,
            dtype=dtype,
        )

    def dense(self) -> Tensor:
        """The normalised adjacency by loops over a dense matrix: nothing shared with the package."""
        n = self.num_nodes
        given: dict[tuple[int, int], float] = {}
        for edge, (source, target) in enumerate(self.edge_index.T.tolist()):
            if self.weight is None:
                given[target, source] = 1.0
            else:
                given[target, source] = given.get((target, source), 0.0) + float(self.weight[edge])
        matrix = np.zeros((n, n))
        for (i, j), value in given.items():
            matrix[i, j] = value
        for i in range(n):
            if (i, i) not in given:
                matrix[i, i] = 1.0
        if self.undirected:
            matrix = np.maximum(matrix, matrix.T)
        rows, columns = matrix.sum(1), matrix.sum(0)
        scale = np.sqrt(np.outer(rows, columns))
        return torch.from_numpy(np.divide(matrix, scale, np.zeros_like(matrix), where=scale > 0))


def _path(n: int) -> Tensor:
    return torch.stack([torch.arange(n - 1), torch.arange(1, n)])


def _complete(n: int) -> Tensor:
    return torch.combinations(torch.arange(n), 2).T


GRAPHS: dict[str, Graph] = {
    "one-node": Graph(torch.empty(2, 0, dtype=torch.long), 1),
    "edgeless": Graph(torch.empty(2, 0, dtype=torch.long), 5),
    "chain": Graph(_path(7), 7),
    "complete": Graph(_complete(6), 6),
    "disconnected": Graph(torch.tensor([[0, 1, 3, 4, 4], [1, 2, 4, 5, 3]]), 8),
    "weighted": Graph(
        torch.tensor([[0, 1, 2, 3, 0, 1], [1, 2, 3, 4, 4, 1]]),
        6,
        torch.tensor([0.5, 2.0, 0.01, 7.0, 1.5, 3.0], dtype=DOUBLE),
    ),
    "directed": Graph(
        torch.tensor([[0, 1, 2, 2, 5, 0], [1, 2, 0, 3, 3, 5]]),
        6,
        torch.tensor([1.0, 0.2, 4.0, 1.0, 0.5, 1.0], dtype=DOUBLE),
        undirected=False,
    ),
    "batch": Graph(
        torch.tensor([[0, 1, 3, 4, 5], [1, 2, 4, 5, 3]]),
        8,
        batch=torch.tensor([0, 0, 0, 1, 1, 1, 1, 2]),
    ),
}


def weight_of(name: str, width: int, kappa: float, seed: int = 0) -> tuple[Tensor, Contraction]:
    """A weight far from zero written as ``name``, and the contraction it promises."""
    torch.manual_seed(seed)
    chosen = parametrization(name, width, kappa).to(DOUBLE)
    with torch.no_grad():
        chosen.raw.copy_(2 * torch.randn(width, width, dtype=DOUBLE))
        chosen.project_()
        return chosen().detach(), chosen.contraction


@dataclass(frozen=True)
class Problem:
    """A map, its graph, and its fixed point found in another way."""

    f: EquilibriumMap
    graph: Graph
    answer: Tensor

    def error_bound(self, residual: float) -> float:
        """How far f(z) can be from the answer when the (absolute) residual at z is this."""
        factor, norm = self.f.contraction.factor, self.f.contraction.norm
        width = self.f.weight.shape[0]
        spread = width**0.5 if norm == "inf" else 1.0
        return spread * factor / (1 - factor) * residual


def kronecker_answer(dense: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Solve ``Z = A Z W + b`` exactly: ``(I - A (x) W^T) vec(Z) = vec(b)``, rows stacked."""
    system = torch.eye(bias.numel(), dtype=DOUBLE) - torch.kron(dense, weight.T.contiguous())
    return torch.linalg.solve(system, bias.flatten()).view_as(bias)


def iterated_answer(dense: Tensor, weight: Tensor, bias: Tensor, activation: str) -> Tensor:
    """The fixed point by a thousand dense steps, in float64."""
    act: Callable[[Tensor], Tensor] = getattr(torch, activation)
    z = act(bias)
    for _ in range(1000):
        z = act(dense @ z @ weight + bias)
    return z


def linear(name: str, kind: str = "cayley", width: int = 3, kappa: float = 0.8) -> Problem:
    """Every entry of the answer is positive, so relu does nothing there and a linear solve gives it."""
    graph = GRAPHS[name]
    weight, contraction = weight_of(kind, width, kappa)
    dense = graph.dense()
    wanted = 10 + torch.rand(graph.num_nodes, width, dtype=DOUBLE)
    bias = wanted - dense @ wanted @ weight
    answer = kronecker_answer(dense, weight, bias)
    assert bool((answer > 1).all())
    return Problem(EquilibriumMap(graph.adjacency(), weight, bias, contraction), graph, answer)


def nonlinear(
    name: str, kind: str = "cayley", activation: str = "relu", width: int = 3, kappa: float = 0.8
) -> Problem:
    """A bias of both signs: about half of the entries are cut off by relu."""
    graph = GRAPHS[name]
    weight, contraction = weight_of(kind, width, kappa)
    bias = torch.randn(graph.num_nodes, width, dtype=DOUBLE)
    f = EquilibriumMap(graph.adjacency(), weight, bias, contraction, activation)
    return Problem(f, graph, iterated_answer(graph.dense(), weight, bias, activation))


def zero(name: str, kind: str = "cayley", width: int = 3) -> Problem:
    """A bias of at most 0 under relu: the fixed point is 0."""
    graph = GRAPHS[name]
    weight, contraction = weight_of(kind, width, 0.8)
    bias = -torch.rand(graph.num_nodes, width, dtype=DOUBLE)
    f = EquilibriumMap(graph.adjacency(), weight, bias, contraction)
    return Problem(f, graph, torch.zeros_like(bias))


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 8) -> Graph:
    """Any small graph: repeated edges, self-loops, isolated nodes, weights or none, either direction."""
    n = draw(st.integers(1, max_nodes))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=3 * n))
    weight = None
    if draw(st.booleans()):
        positive = st.floats(0.01, 10)
        values = draw(st.lists(positive, min_size=len(edges), max_size=len(edges)))
        weight = torch.tensor(values, dtype=DOUBLE)
    index = torch.tensor(edges, dtype=torch.long).view(-1, 2).T.contiguous()
    return Graph(index, n, weight, undirected=draw(st.booleans()))


@st.composite
def maps(draw: st.DrawFn, max_nodes: int = 8, max_width: int = 4) -> tuple[Graph, EquilibriumMap]:
    """Any small graph with a contraction of any parametrization and activation on it."""
    graph = draw(graphs(max_nodes))
    width = draw(st.integers(1, max_width))
    kappa = draw(st.floats(0.05, 0.95))
    seed = draw(st.integers(0, 2**16))
    kind = draw(st.sampled_from(sorted(PARAMETRIZATIONS)))
    weight, contraction = weight_of(kind, width, kappa, seed)
    bias = draw(st.floats(-2, 2)) + torch.randn(graph.num_nodes, width, dtype=DOUBLE)
    activation = draw(st.sampled_from(ACTIVATIONS))
    return graph, EquilibriumMap(graph.adjacency(), weight, bias, contraction, activation)
