import torch

import ignn_solver as ig
from ignn_solver.learning.following import _fit, fit_following
from ignn_solver.solvers.learned import powers


def test_a_correction_of_its_own_form_is_found_exactly(f):
    torch.manual_seed(0)
    stack = powers(f, f.start(), 3)
    regressors = [torch.randn(400, 16) for _ in range(3)]
    s, c, p = torch.randn(3), torch.randn(3), torch.randn(3)
    mixed = sum(weight * one for weight, one in zip(c, regressors, strict=True))
    target = sum(scalar * one for scalar, one in zip(s, regressors, strict=True))
    target = target + mixed @ torch.einsum("j,jab->ab", p, stack[1:])
    scalars, weights, polynomial = _fit(regressors, stack, target)
    torch.testing.assert_close(scalars.float(), s, rtol=1e-3, atol=1e-3)
    product = torch.outer(weights, polynomial).float()
    torch.testing.assert_close(product, torch.outer(c, p), rtol=1e-3, atol=1e-3)


def test_the_same_seed_gives_the_same_solver_and_its_size_is_as_asked(f, solution):
    one, other = (fit_following(f, f.start(), solution, steps=3, degree=2) for _ in range(2))
    assert one.polynomial.shape == (3, 2)
    for name, tensor in one.tensors().items():
        assert torch.equal(tensor, other.tensors()[name])


def test_it_follows_weights_that_change(model, graph, f, solution):
    solver = fit_following(f, f.start(), solution)
    changed = type(f)(f.adjacency, f.weight.T.contiguous(), f.bias, f.contraction)
    plain = ig.solve(changed, tol=1e-4).num_evals
    assert ig.solve(changed, solver, tol=1e-4).num_evals <= 0.8 * plain
