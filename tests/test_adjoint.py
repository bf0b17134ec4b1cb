"""Gradients through a fixed point, checked against finite differences and against unrolling."""

import pytest
import torch
from torch import Tensor

from ignn_solver.adjacency import Adjacency
from ignn_solver.adjoint import BackwardSolve, implicit, unrolled
from ignn_solver.equilibrium import EquilibriumMap
from ignn_solver.nn.features import FeatureLinear
from ignn_solver.nn.parametrize import PARAMETRIZATIONS, parametrization
from ignn_solver.solvers import Anderson
from ignn_solver.solving import solve
from problems import ACTIVATIONS, DOUBLE, SOLVERS, nonlinear

EDGES = torch.tensor([[0, 1, 2, 3, 0, 4, 2], [1, 2, 3, 0, 2, 4, 1]])
NODES, WIDTH, FEATURES = 6, 3, 4
TIGHT = {"tol": 1e-13, "max_evals": 2000, "on_failure": "raise"}


class Model:
    """Everything a map is made from, in float64, each part with gradients."""

    def __init__(
        self, kind: str, activation: str, undirected: bool, propagate: bool = False
    ) -> None:
        torch.manual_seed(1)
        self.weight = parametrization(kind, WIDTH, 0.6).to(DOUBLE)
        self.input = FeatureLinear(FEATURES, WIDTH).to(DOUBLE)
        torch.nn.init.uniform_(self.input.bias)
        self.x = torch.randn(NODES, FEATURES, dtype=DOUBLE, requires_grad=True)
        # All different: where two directions are merged the larger must be unique.
        self.edges = torch.linspace(0.4, 1.9, EDGES.shape[1], dtype=DOUBLE).requires_grad_()
        self.activation, self.undirected, self.propagate = activation, undirected, propagate

    @property
    def tensors(self) -> list[Tensor]:
        return [self.x, self.edges, *self.weight.parameters(), *self.input.parameters()]

    def map(self) -> EquilibriumMap:
        adjacency = Adjacency.from_edge_index(
            EDGES, self.edges, NODES, undirected=self.undirected, dtype=DOUBLE
        )
        injected = self.input(self.x)
        if self.propagate:
            injected = adjacency.matmul(injected)
        return EquilibriumMap(
            adjacency, self.weight(), injected, self.weight.contraction, self.activation
        )


def gradients(model: Model, z: Tensor) -> list[Tensor]:
    torch.manual_seed(2)
    return list(torch.autograd.grad((z * torch.randn_like(z)).sum(), model.tensors))


def assert_away_from_kinks(f: EquilibriumMap, z: Tensor) -> None:
    before = f.adjacency.matmul(z @ f.weight) + f.bias
    assert before.abs().min() > 1e-4
    assert (before < 0).any()


@pytest.mark.parametrize("undirected", [True, False])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("kind", PARAMETRIZATIONS)
def test_implicit_and_unrolled_gradients_agree(kind, activation, undirected):
    for propagate in (False, True):
        model = Model(kind, activation, undirected, propagate)
        f = model.map()
        z = solve(f.detach(), **TIGHT).value
        if activation == "relu":
            assert_away_from_kinks(f, z)
        by_unrolling = gradients(model, unrolled(model.map(), torch.zeros_like(z), 80))
        by_implicit = gradients(model, implicit(f, z, BackwardSolve(**TIGHT)))
        for one, other in zip(by_implicit, by_unrolling, strict=True):
            assert other.abs().max() > 0
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("undirected", [True, False])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("kind", PARAMETRIZATIONS)
def test_gradcheck(kind, activation, undirected):
    model = Model(kind, activation, undirected)

    def equilibrium(*_: Tensor) -> Tensor:
        f = model.map()
        return implicit(f, solve(f.detach(), **TIGHT).value, BackwardSolve(**TIGHT))

    # gradcheck moves the entries of these very tensors.
    assert torch.autograd.gradcheck(equilibrium, model.tensors, eps=1e-6, atol=1e-6, fast_mode=True)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_solves_the_backward_equation(solver):
    model = Model("cayley", "tanh", undirected=False)
    z = solve(model.map().detach(), **TIGHT).value
    expected = gradients(model, implicit(model.map(), z, BackwardSolve(**TIGHT)))
    backward = BackwardSolve(SOLVERS[solver], tol=1e-9, on_failure="raise")
    found = gradients(model, implicit(model.map(), z, backward))
    assert backward.solution.converged
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)


def test_the_backward_equation_is_solved_where_it_says():
    problem = nonlinear("directed", activation="tanh")
    f, z = problem.f, problem.answer
    bias = f.bias.clone().requires_grad_()
    f = EquilibriumMap(f.adjacency, f.weight, bias, f.contraction, f.activation)
    upstream = torch.randn_like(z)
    (u,) = torch.autograd.grad(implicit(f, z, BackwardSolve(**TIGHT)), bias, upstream)
    dense = problem.graph.dense()
    torch.testing.assert_close(u, (1 - z * z) * (dense.T @ u @ f.weight.T + upstream))


def test_a_warm_start_saves_evaluations_and_changes_nothing():
    model = Model("cayley", "tanh", undirected=True)
    z = solve(model.map().detach(), **TIGHT).value
    cold = BackwardSolve(tol=1e-9)
    expected = gradients(model, implicit(model.map(), z, cold))
    warm = BackwardSolve(tol=1e-9, start=cold.solution.value)
    found = gradients(model, implicit(model.map(), z, warm))
    assert warm.solution.num_evals == 1 < cold.solution.num_evals
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-8)


def test_a_backward_solve_that_fails_warns_or_raises():
    model = Model("cayley", "tanh", undirected=True)
    z = solve(model.map().detach(), **TIGHT).value
    with pytest.warns(RuntimeWarning, match="ran out of evaluations"):
        implicit(model.map(), z, BackwardSolve(tol=1e-12, max_evals=2)).sum().backward()
    with pytest.raises(RuntimeError, match="ran out of evaluations"):
        implicit(
            model.map(), z, BackwardSolve(tol=1e-12, max_evals=2, on_failure="raise")
        ).sum().backward()


def test_the_equilibrium_itself_is_passed_through_and_not_aliased():
    model = Model("cayley", "relu", undirected=True)
    z = solve(model.map().detach(), Anderson(), tol=1e-6).value
    with_gradients = implicit(model.map(), z)
    assert torch.equal(with_gradients, z)
    assert with_gradients.data_ptr() != z.data_ptr()
    assert with_gradients.requires_grad


def test_a_second_derivative_is_refused_not_wrong():
    model = Model("cayley", "tanh", undirected=True)
    z = solve(model.map().detach(), **TIGHT).value
    out = implicit(model.map(), z, BackwardSolve(**TIGHT))
    (first,) = torch.autograd.grad(out.square().sum(), model.x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_unrolling_is_repeated_application():
    f = nonlinear("chain").f
    z = torch.zeros_like(f.bias)
    torch.testing.assert_close(unrolled(f, z, 3), f(f(f(z))))
    assert unrolled(f, z, 0) is z
