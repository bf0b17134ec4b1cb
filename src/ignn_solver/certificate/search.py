"""Try to refute the certificate: random problems, solved far beyond the certified accuracy."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..adjacency import Adjacency
from ..equilibrium import EquilibriumMap
from ..nn.parametrize import parametrization
from ..solvers import Anderson, Picard
from ..solving import Solver, solve
from .certify import certify
from .heads import margins
from .stopping import is_certified

REFERENCE_TOLERANCE = 1e-12
_REFERENCE_ROUNDS = 10_000
#: A certificate must hold wherever a solve was cut off.
_MAX_EVALS = 80


@dataclass(frozen=True)
class Case:
    """One random problem.

    Attributes:
        seed: Seed of everything random in it.
        nodes: Nodes of each graph.
        width: Width d of the states.
        graphs: Graphs in the batch.
        degree: Edges a node, on average.
        directed: Whether edges have a direction.
        weighted: Whether they have weights, over six orders of magnitude.
        parametrization: How W is written.
        activation: The activation.
        kappa: The factor that the parametrization promises.
        scale: Size of b.
        double: Whether the model is in float64 instead of float32.
        tol: Tolerance of the solve that is certified.
        accelerate: Whether it is solved by Anderson instead of plain iteration.
        layers: Layers of the head.
        exact: Whether the certificate evaluates f once more, in float64.
    """

    seed: int
    nodes: int = 8
    width: int = 4
    graphs: int = 1
    degree: float = 2.0
    directed: bool = False
    weighted: bool = False
    parametrization: str = "cayley"
    activation: str = "relu"
    kappa: float = 0.9
    scale: float = 1.0
    double: bool = False
    tol: float = 1e-3
    accelerate: bool = False
    layers: int = 1
    exact: bool = False

    def build(self) -> tuple[EquilibriumMap, nn.Module]:
        """The map and the head of this problem."""
        generator = torch.Generator().manual_seed(self.seed)
        dtype = torch.float64 if self.double else torch.float32
        count = round(self.degree * self.nodes)
        shape = (self.graphs, 2, count)
        edges = torch.randint(0, self.nodes, shape, generator=generator)
        edges += self.nodes * torch.arange(self.graphs).view(-1, 1, 1)
        edges = edges.transpose(0, 1).reshape(2, -1)
        spread = 10 ** (6 * torch.rand(edges.shape[1], generator=generator) - 3)
        adjacency = Adjacency.from_edge_index(
            edges,
            spread if self.weighted else None,
            self.nodes * self.graphs,
            undirected=not self.directed,
            batch=torch.arange(self.graphs).repeat_interleave(self.nodes),
            dtype=dtype,
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            written = parametrization(self.parametrization, self.width, self.kappa).to(dtype)
            nn.init.normal_(written.raw)
            written.project_()
            layers: list[nn.Module] = []
            for _ in range(self.layers - 1):
                layers += [nn.Linear(self.width, self.width), nn.ReLU()]
            head = nn.Sequential(*layers, nn.Linear(self.width, 3)).to(dtype)
            bias = self.scale * torch.randn(adjacency.num_nodes, self.width, dtype=dtype)
        f = EquilibriumMap(adjacency, written(), bias, written.contraction, self.activation)
        return f.detach(), head


@dataclass(frozen=True)
class Outcome:
    """What one case showed.

    Attributes:
        ratio: Bound over true error of each node; at least 1 if the theorem and its code are right.
        certified: How many classes were proven.
        wrong: How many of those differ from the class of the reference.
        reason: Why nothing could be proven, if so.
    """

    ratio: Tensor
    certified: int
    wrong: int
    reason: str | None


def reference_equilibrium(f: EquilibriumMap, start: Tensor) -> tuple[Tensor, float]:
    """The fixed point of the same numbers in float64 and what is left of its residual.

    It is plain iteration with dense matrices, and shares no code with the solvers.
    """
    adjacency = f.adjacency.matrix.as_torch().to_dense().double()
    weight, bias = f.weight.double(), f.bias.double()
    z, residual = start.double(), torch.inf
    for _ in range(_REFERENCE_ROUNDS):
        for _ in range(16):
            before, z = z, getattr(torch, f.activation)(adjacency @ (z @ weight) + bias)
        residual = float((z - before).norm())
        if residual <= REFERENCE_TOLERANCE * float(z.norm()):
            return z, residual
    raise ArithmeticError(f"the reference stalled at residual {residual:.1e}")


@torch.no_grad()
def examine(case: Case) -> Outcome:
    """Certify one problem and compare with a solve of the same numbers in float64, to 1e-12."""
    f, head = case.build()
    solver: Solver = Anderson(safeguard=True) if case.accelerate else Picard()
    solution = solve(f, solver, tol=case.tol, max_evals=_MAX_EVALS, on_failure="return")
    certificate = certify(f, solution, exact=case.exact)
    reference, off = reference_equilibrium(f, solution.value)
    order = torch.inf if certificate.norm == "inf" else 2
    error = torch.linalg.vector_norm(solution.value.double() - reference, order, dim=-1)
    # The reference is itself only known to within its own residual.
    slack = off / (1 - certificate.factor) + 1e-14
    error = (error - slack).clamp_min(0)
    ratio = torch.where(error > 0, certificate.bound / error, torch.inf)
    found = margins(head, solution.value, certificate.norm)
    proven = is_certified(found, certificate.bound)
    true_classes = head.double()(reference).argmax(-1)
    wrong = int((proven & (found.classes != true_classes)).sum())
    return Outcome(ratio, int(proven.sum()), wrong, certificate.reason)
