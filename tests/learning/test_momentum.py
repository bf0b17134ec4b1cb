from dataclasses import replace

import pytest
import torch

import ignn_solver as ig
from ignn_solver.learning.momentum import MomentumOptions, _Steps, fit_momentum


@pytest.mark.parametrize("rank", [0, 6])
def test_each_step_comes_closer_than_the_plain_step(f, solution, rank):
    solver = fit_momentum(f, solution, MomentumOptions(steps=6, rank=rank))
    z, _ = solver.initial(f)
    state = solver.init(f, z)
    assert torch.dist(z, solution) < torch.dist(f.start(), solution)
    for _ in range(6):
        fz = f(z)
        z, state = solver.step(z, fz, state)
        assert torch.dist(z, solution) < torch.dist(fz, solution)


def test_plain_steps_come_first_and_mixing_begins_without_momentum(f, solution):
    mixing = fit_momentum(f, solution, MomentumOptions(steps=6, rank=6))
    assert mixing.details["plain"] == 0
    late = replace(mixing, details={**mixing.details, "plain": 2})
    z, _ = late.initial(f)
    state = late.init(f, z)
    for _ in range(2):
        fz = f(z)
        z, state = late.step(z, fz, state)
        assert z is fz
    point, image = z, f(z)
    z, state = late.step(point, image, state)
    correction = (image - point) @ late.left[2][:16] @ late.right[2]
    torch.testing.assert_close(z, (image + correction).clamp_min(0))
    kept, image = z.clone(), f(z)
    z, state = late.step(z, image, state)
    both = torch.cat([image - kept, kept - point], 1)
    torch.testing.assert_close(z, (image + both @ late.left[3] @ late.right[3]).clamp_min(0))


@pytest.mark.parametrize("repeats", [True, False])
def test_beyond_the_last_matrix_steps_repeat_it_or_are_plain(f, solution, repeats):
    fitted = fit_momentum(f, solution, MomentumOptions(steps=3, rank=6))
    solver = replace(fitted, details={**fitted.details, "repeats": repeats})
    z, _ = solver.initial(f)
    state = solver.init(f, z)
    for _ in range(3):
        z, state = solver.step(z, f(z), state)
    image = f(z)
    z, state = solver.step(z, image, state)
    assert torch.equal(z, image) is not repeats
    # A batch is solved elsewhere, by the same steps.
    dashed, solved = solver.dash(f, 1e-5, 1.0), ig.solve(f, solver, tol=1e-5, safeguard=False)
    known = torch.as_tensor(dashed.trace)
    assert len(known) > 8
    torch.testing.assert_close(known, solved.trace[: len(known)], rtol=0.01, atol=1e-7)


def test_whether_the_last_step_may_be_repeated_is_measured(f, solution):
    options = MomentumOptions()
    assert fit_momentum(f, solution, options).details["repeats"]
    steps = _Steps(f, solution, torch.arange(len(solution)), f.start(), 6, options.ridge, 0.0)
    while steps.goes_on(options):
        steps.advance()
    assert steps.repeats()
    steps.lefts[-1] = 20 * steps.lefts[-1]
    assert not steps.repeats()


def test_plain_steps_are_chosen_only_where_they_need_no_more_evaluations(f, solution):
    chosen = fit_momentum(f, solution, MomentumOptions())
    mixing = fit_momentum(f, solution, MomentumOptions(rank=0))
    evals = [ig.solve(f, solver, tol=1e-3).num_evals for solver in (chosen, mixing)]
    assert evals[0] <= evals[1]
    assert chosen.details["plain"] <= evals[0]
    assert not chosen.left[: chosen.details["plain"]].any()


def test_shapes_and_parameters(f, solution):
    low = fit_momentum(f, solution, MomentumOptions(steps=5, rank=4))
    assert low.left.shape == (5, 32, 4)
    assert low.right.shape == (5, 4, 16)
    full = fit_momentum(f, solution, MomentumOptions(steps=5, rank=16))
    assert full.left.shape == (5, 32, 16)
    assert full.right.shape[1] == 0
    learnt = 5 * 32 * 16 + (5 + 1) * 2 * 5
    narrow = full.basis.shape[1]
    learnt += (16 + 32) * narrow + len(full.narrow) * 2 * narrow**2
    assert full.num_parameters == learnt


def test_a_full_rank_factorisation_is_the_full_matrix(f, solution):
    full = fit_momentum(f, solution, MomentumOptions(steps=4, rank=0))
    almost = fit_momentum(f, solution, MomentumOptions(steps=4, rank=15))
    evals = [ig.solve(f, solver, tol=1e-4).num_evals for solver in (full, almost)]
    assert abs(evals[0] - evals[1]) <= 1


@pytest.mark.parametrize("base", ["plain", "sweep"])
def test_narrow_states_start_from_b_alone(f, solution, base):
    solver = fit_momentum(f, solution, MomentumOptions(base=base))
    assert solver.basis.shape == (16, 16)
    assert len(solver.narrow) == solver.initial(f)[1] == 0
    none = fit_momentum(f, solution, MomentumOptions(narrow=0, base=base))
    assert none.basis.shape == (16, 0)
    assert torch.equal(none.initial(f)[0], f.start())
    assert ig.solve(f, solver, tol=1e-3).num_evals <= ig.solve(f, none, tol=1e-3).num_evals


def test_in_a_trained_model_the_start_is_a_narrow_stand_in(graph):
    torch.manual_seed(0)
    model = ig.IGNN(graph.num_features, 64, graph.num_classes, kappa=0.95)
    ig.fit(model, graph, epochs=20, progress=False)
    fitted = ig.fit_solver(model, graph, progress=False)
    assert fitted.basis.shape == (64, 16)
    assert len(fitted.narrow) > 0
    wide = ig.fit_solver(model, graph, narrow=64, progress=False)
    f = model.eval().equilibrium_map(graph).detach()
    charged = ig.solve(f, fitted, tol=1e-3, on_failure="raise").num_evals
    assert charged < 0.5 * ig.solve(f, tol=1e-3).num_evals
    assert charged <= ig.solve(f, wide, tol=1e-3).num_evals
