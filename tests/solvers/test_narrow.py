"""The narrow stand-in: exact where nothing is left out, close where little is, cheap by count."""

import math

import pytest
import torch

import ignn_solver as ig
from ignn_solver.equilibrium import EquilibriumMap
from ignn_solver.learning.momentum import MomentumOptions, fit_momentum
from ignn_solver.solvers.narrow import NarrowMap, stepped
from learning.conftest import f, graph, model, solution

__all__ = ["f", "graph", "model", "solution"]


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
def test_at_full_width_its_fixed_point_is_that_of_f(f, activation):
    one = EquilibriumMap(f.adjacency, f.weight, f.bias, f.contraction, activation)
    exact = ig.solve(one, tol=1e-6).value
    basis = torch.linalg.qr(torch.randn(16, 16)).Q
    stand_in = NarrowMap(one, basis)
    coordinates = one.adjacency.matmul(exact @ one.weight) @ basis
    torch.testing.assert_close(stand_in.states(coordinates), exact, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(stand_in.image(coordinates), coordinates, rtol=1e-4, atol=1e-4)


def test_its_image_is_the_formula(f):
    basis = torch.linalg.qr(torch.randn(16, 3)).Q
    t = torch.randn(f.adjacency.num_nodes, 3)
    expected = f.adjacency.matmul(torch.relu(t @ basis.T + f.bias) @ f.weight @ basis)
    torch.testing.assert_close(NarrowMap(f, basis).image(t), expected, rtol=1e-4, atol=1e-5)


def test_a_step_adds_residual_and_momentum():
    t, image, previous = torch.randn(3, 10, 2)
    matrix = torch.randn(4, 2)
    expected = image + torch.cat([image - t, t - previous], 1) @ matrix
    torch.testing.assert_close(stepped(t, image, previous, matrix), expected)
    first = image + (image - t) @ matrix[:2]
    torch.testing.assert_close(stepped(t, image, None, matrix), first)


def test_without_steps_the_guess_is_linear_in_what_comes_in(f):
    basis, start = torch.linalg.qr(torch.randn(16, 4)).Q, torch.randn(32, 4)
    stand_in = NarrowMap(f, basis)
    guess = stand_in.guess(start, torch.empty(0, 8, 4))
    coordinates = torch.cat([torch.relu(f.bias), f.bias], 1) @ start
    torch.testing.assert_close(stand_in.first(start), coordinates, rtol=1e-4, atol=1e-4)
    expected = torch.relu(coordinates @ basis.T + f.bias)
    torch.testing.assert_close(guess, expected, rtol=1e-4, atol=1e-4)


def test_the_steps_are_charged(f, solution):
    solver = fit_momentum(f, solution, MomentumOptions(narrow=4))
    nodes, entries = f.adjacency.num_nodes, f.adjacency.num_entries
    share = 4 * (entries + 2 * 16 * nodes) / (16 * (entries + 16 * nodes))
    assert NarrowMap(f, solver.basis).share == pytest.approx(share)
    assert len(solver.narrow) > 0
    assert solver.initial(f)[1] == math.ceil(len(solver.narrow) * share)
