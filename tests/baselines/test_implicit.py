"""The implicit models against dense solves, and their gradients against finite differences."""

import pytest
import torch
from torch.func import functional_call
from torch.nn import functional as F

from ignn_solver.baselines.eignn import EIGNN, solve_exactly
from ignn_solver.baselines.graph import adjacency_of
from ignn_solver.baselines.ignn_original import IGNNOriginal
from ignn_solver.baselines.mignn import MIGNN
from ignn_solver.solving import solve

TIGHT = {"tol": 1e-11, "max_evals": 20000, "dropout": 0.0}
SPLITTINGS = ("forward-backward", "peaceman-rachford")
MIGNNS = [
    {"parametrization": kind, "splitting": splitting}
    for kind in ("cayley", "skew")
    for splitting in SPLITTINGS
]


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def equilibrium_by_brute_force(dense, weight, injected):
    """Newton's method on Z - relu(A Z W + b), with the dense Kronecker matrix."""
    n, d = injected.shape
    operator = torch.kron(dense, weight.T.contiguous())
    flat = injected.flatten()
    z = torch.zeros_like(flat)
    eye = torch.eye(n * d, dtype=z.dtype)
    for _ in range(200):
        before = operator @ z + flat
        residual = z - before.relu()
        if residual.abs().max() < 1e-13:
            break
        z = z - torch.linalg.solve(eye - (before > 0).double()[:, None] * operator, residual)
    assert residual.abs().max() < 1e-13
    return z.view(n, d)


def numbers(model, graph):
    """The scores as a function of all parameters, for finite differences."""
    names, values = zip(*model.named_parameters(), strict=True)

    def scores(*tensors):
        return functional_call(model, dict(zip(names, tensors, strict=True)), (graph,))

    return scores, tuple(value.detach().clone().requires_grad_() for value in values)


@pytest.mark.parametrize("exact_up_to", [0, 100])
def test_eignn_is_the_dense_kronecker_solve(graph, dense, exact_up_to):
    model = EIGNN(6, 4, 3, exact_up_to=exact_up_to, **TIGHT).double().eval()
    weight, injected = model.weight(), model.input(graph.x)
    system = torch.eye(14 * 4, dtype=torch.float64) - torch.kron(dense, weight.T.contiguous())
    expected = torch.linalg.solve(system, injected.flatten()).view(14, 4)
    torch.testing.assert_close(model.equilibrium(graph), expected, rtol=1e-8, atol=1e-9)
    torch.testing.assert_close(model(graph), model.head(expected), rtol=1e-8, atol=1e-9)
    assert (model.evaluations()[0] == 0) == (exact_up_to == 100)


def test_eignn_weight_is_symmetric_and_within_gamma():
    weight = EIGNN(6, 4, 3, gamma=0.8).double().weight()
    torch.testing.assert_close(weight, weight.T)
    torch.testing.assert_close(torch.linalg.matrix_norm(weight), torch.tensor(0.8).double())
    assert torch.linalg.eigvalsh(weight).min() > -1e-12


def test_eignn_exact_solve_leaves_no_residual_in_single_precision(graph):
    adjacency = adjacency_of(graph, torch.float32)
    weight = EIGNN(6, 4, 3).weight().detach()
    injected = torch.randn(14, 4)
    z = solve_exactly(adjacency, weight, injected)
    torch.testing.assert_close(adjacency.matmul(z) @ weight + injected, z, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("exact_up_to", [0, 100])
def test_eignn_gradients(graph, exact_up_to):
    model = EIGNN(6, 3, 2, exact_up_to=exact_up_to, **TIGHT).double()
    assert torch.autograd.gradcheck(*numbers(model, graph), fast_mode=True)
    model(graph).sum().backward()
    assert (model.evaluations()[1] == 0) == (exact_up_to == 100)


def test_ignn_original_is_the_dense_equilibrium(graph, dense):
    model = IGNNOriginal(6, 4, 3, dropout=0.0, tol=1e-12).double().eval()
    weight = model.conv.weight()
    assert weight.abs().sum(0).max() <= 0.9
    injected = dense @ graph.x @ model.conv.input.weight
    expected = equilibrium_by_brute_force(dense, weight, injected)
    torch.testing.assert_close(model(graph), F.normalize(expected, dim=1) @ model.head.weight.T)


def test_ignn_original_gradients(graph):
    model = IGNNOriginal(6, 3, 2, dropout=0.0, tol=1e-11, max_evals=5000).double().eval()
    with torch.no_grad():
        # Off the edge of the ball, where the projection would bend the finite differences.
        model.conv.weight.raw.mul_(0.9)
    assert torch.autograd.gradcheck(*numbers(model, graph), fast_mode=True)
    model(graph).sum().backward()
    assert min(model.evaluations()) > 1


def test_ignn_original_is_projected_before_each_training_step(graph):
    model = IGNNOriginal(6, 4, 3).double()
    with torch.no_grad():
        model.conv.weight.raw.mul_(10)
    model(graph)
    assert model.conv.weight().abs().sum(0).max() <= 0.9


@pytest.mark.parametrize("options", MIGNNS)
def test_mignn_is_the_dense_equilibrium(graph, dense, options):
    model = MIGNN(6, 4, 3, **options, **TIGHT).double().eval()
    injected = dense @ model.input(graph.x)
    expected = equilibrium_by_brute_force(dense, model.layer.weight(), injected)
    torch.testing.assert_close(model.equilibrium(graph), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("options", MIGNNS)
def test_mignn_gradients(graph, options):
    model = MIGNN(6, 3, 2, **options, **TIGHT).double()
    assert torch.autograd.gradcheck(*numbers(model, graph), fast_mode=True)
    model(graph).sum().backward()
    assert min(model.evaluations()) > 1


def test_mignn_orthogonal_weight_has_singular_values_below_kappa_and_both_signs():
    model = MIGNN(6, 10, 3, kappa=0.8).double()
    norm, monotone = model.layer.weight.bounds(model.layer.weight())
    singular = torch.linalg.svdvals(model.layer.weight())
    torch.testing.assert_close(singular, torch.full_like(singular, norm))
    assert norm == pytest.approx(0.8 * torch.sigmoid(torch.tensor(1.0)).item())
    assert monotone == pytest.approx(1 - norm)
    assert model.layer.weight.signs.tolist().count(-1.0) == 2


def test_mignn_monotone_weight_solves_where_plain_iteration_diverges(graph, dense):
    options = {"parametrization": "skew", "splitting": "peaceman-rachford"}
    model = MIGNN(6, 4, 3, kappa=0.5, **options, **TIGHT).double().eval()
    with torch.no_grad():
        model.layer.weight.skew.mul_(20)
    weight = model.layer.weight()
    norm, monotone = model.layer.weight.bounds(weight)
    assert norm > 2
    symmetric = torch.kron(dense, (weight + weight.T) / 2)
    assert 1 - torch.linalg.eigvalsh(symmetric).max() >= monotone - 1e-12
    injected = dense @ model.input(graph.x)
    z = model.equilibrium(graph)
    torch.testing.assert_close((dense @ z @ weight + injected).relu(), z, rtol=1e-7, atol=1e-8)

    from ignn_solver.equilibrium import Contraction, EquilibriumMap

    adjacency = adjacency_of(graph, torch.float64)
    plain = EquilibriumMap(adjacency, weight.detach(), injected.detach(), Contraction(float("inf")))
    assert not solve(plain, tol=1e-8, max_evals=500, on_failure="return").converged


def test_mignn_counts_every_product(graph):
    costs = {}
    for splitting in SPLITTINGS:
        torch.manual_seed(0)
        model = MIGNN(6, 4, 3, splitting=splitting, dropout=0.0).double()
        model(graph).sum().backward()
        costs[splitting] = model.evaluations()
    assert all(product > 1 for pair in costs.values() for product in pair)
    assert costs["peaceman-rachford"][0] > costs["forward-backward"][0]
