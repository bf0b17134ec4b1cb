"""The equilibrium map, its adjoint, and proofs by numbers of how strongly both contract."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ignn_solver.equilibrium import AdjointMap, Contraction, EquilibriumMap
from ignn_solver.errors import InputError
from ignn_solver.nn.parametrize import PARAMETRIZATIONS
from problems import ACTIVATIONS, DOUBLE, GRAPHS, graphs, linear, maps, nonlinear, weight_of, zero

ORDERS = {"1": 1.0, "2": 2.0, "inf": torch.inf}


def assert_contracts(
    dense: Tensor, change: Tensor, image: Tensor, contraction: Contraction
) -> None:
    """The node-wise inequality of ``Contraction``, and what follows from it for the whole graph."""
    order = ORDERS[contraction.norm]
    before = torch.linalg.vector_norm(change, order, dim=1)
    after = torch.linalg.vector_norm(image, order, dim=1)
    assert (after <= contraction.factor * (dense @ before) * (1 + 1e-9) + 1e-12).all()
    assert after.norm() <= contraction.factor * before.norm() * (1 + 1e-9) + 1e-12


@given(maps(), st.floats(0.01, 100), st.integers(0, 999))
def test_every_map_contracts_by_its_factor_node_by_node(drawn, size, seed):
    graph, f = drawn
    torch.manual_seed(seed)
    z = size * torch.randn_like(f.bias)
    y = size * torch.randn_like(f.bias)
    assert_contracts(graph.dense(), z - y, f(z) - f(y), f.contraction)
    if f.contraction.norm == "2":
        assert (f(z) - f(y)).norm() <= f.contraction.factor * (z - y).norm() * (1 + 1e-9)


@given(maps(), st.integers(0, 999))
def test_every_adjoint_contracts_by_the_same_factor_in_the_dual_norm(drawn, seed):
    graph, f = drawn
    torch.manual_seed(seed)
    scale = f.derivative(f(torch.randn_like(f.bias)))
    dual = f.contraction.dual
    adjoint = AdjointMap(f.adjacency.transpose, f.weight.T, torch.randn_like(f.bias), scale, dual)
    z, y = torch.randn_like(f.bias), torch.randn_like(f.bias)
    image = adjoint.evaluate(z).value - adjoint.evaluate(y).value
    assert_contracts(graph.dense().T, z - y, image, dual)


@pytest.mark.parametrize("kind", PARAMETRIZATIONS)
def test_the_factor_is_attained_so_it_cannot_be_stated_smaller(kind):
    """On an edgeless graph without activation the best direction grows by kappa exactly."""
    weight, contraction = weight_of(kind, 4, 0.7)
    by_norm = {
        "2": torch.linalg.matrix_norm(weight, 2),
        "inf": weight.abs().sum(0).max(),  # z = the signs of that column
    }
    assert by_norm[contraction.norm] == pytest.approx(0.7, rel=1e-9)


def test_dual_norms():
    assert Contraction(0.5, "inf").dual == Contraction(0.5, "1")
    assert Contraction(0.5, "inf").dual.dual == Contraction(0.5, "inf")
    assert Contraction(0.5).dual == Contraction(0.5, "2")


@given(graphs(), st.sampled_from(ACTIVATIONS), st.integers(0, 99))
def test_call_and_evaluate_equal_the_dense_formula(graph, activation, seed):
    weight, contraction = weight_of("cayley", 3, 0.9, seed)
    bias = torch.randn(graph.num_nodes, 3, dtype=DOUBLE)
    f = EquilibriumMap(graph.adjacency(), weight, bias, contraction, activation)
    z = torch.randn_like(bias)
    expected = getattr(torch, activation)(graph.dense() @ z @ weight + bias)
    torch.testing.assert_close(f(z), expected)
    value, residual_sq, value_sq = f.evaluate(z)
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(residual_sq, (expected - z).square().sum(1))
    torch.testing.assert_close(value_sq, expected.square().sum(1))
    torch.testing.assert_close(f.start(), f(torch.zeros_like(bias)))


@pytest.mark.parametrize("kind", PARAMETRIZATIONS)
@pytest.mark.parametrize("name", GRAPHS)
def test_the_zoo_knows_its_answers(name, kind):
    problems = [linear(name, kind), zero(name, kind)]
    problems += [nonlinear(name, kind, activation) for activation in ACTIVATIONS]
    for problem in problems:
        torch.testing.assert_close(problem.f(problem.answer), problem.answer)


def test_closed_form_without_edges():
    """Without edges A is the identity: each node solves z = z W + b alone."""
    problem = linear("edgeless")
    alone = problem.f.bias @ torch.linalg.inv(torch.eye(3, dtype=DOUBLE) - problem.f.weight)
    torch.testing.assert_close(problem.answer, alone)


def test_closed_form_on_the_complete_graph():
    """There A is the mean over nodes: the mean solves m = m W + mean(b), and Z = m W + b."""
    problem = linear("complete")
    weight, bias = problem.f.weight, problem.f.bias
    mean = bias.mean(0) @ torch.linalg.inv(torch.eye(3, dtype=DOUBLE) - weight)
    torch.testing.assert_close(problem.answer, mean @ weight + bias)


def test_evaluation_needs_no_detached_map():
    problem = nonlinear("chain")
    weight = problem.f.weight.clone().requires_grad_()
    bias = problem.f.bias.clone().requires_grad_()
    f = EquilibriumMap(problem.f.adjacency, weight, bias, problem.f.contraction)
    z = problem.answer.clone().requires_grad_()
    assert not f.evaluate(z).value.requires_grad
    assert f(z).requires_grad
    assert not f.detach()(problem.answer).requires_grad


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_derivative_from_the_value_is_that_of_the_activation(activation):
    problem = nonlinear("chain", activation=activation)
    before = torch.randn(20, dtype=DOUBLE, requires_grad=True)
    value = getattr(torch, activation)(before)
    value.sum().backward()
    torch.testing.assert_close(problem.f.derivative(value.detach()), before.grad)


def test_wrong_maps_are_refused():
    f = nonlinear("chain").f
    with pytest.raises(
        InputError, match="unknown activation 'gelu': choose one of relu, tanh, sigmoid"
    ):
        EquilibriumMap(f.adjacency, f.weight, f.bias, f.contraction, "gelu")
    with pytest.raises(InputError, match=r"W must be square, not \(2, 3\)"):
        EquilibriumMap(f.adjacency, f.weight[:2], f.bias, f.contraction)
    with pytest.raises(InputError, match=r"b must have shape \(7, 3\), not \(6, 3\)"):
        EquilibriumMap(f.adjacency, f.weight, f.bias[:6], f.contraction)
