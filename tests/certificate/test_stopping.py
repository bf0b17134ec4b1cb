"""Solves that stop when the classes are proven."""

from dataclasses import replace

import pytest
import torch

from ignn_solver import IGNN, InputError, datasets, solve
from ignn_solver.certificate import CertifiedStop, Certifier, is_certified, margins, stopping
from ignn_solver.certificate.search import Case, reference_equilibrium
from ignn_solver.ordering import ordered


@pytest.mark.parametrize("fraction", [0.5, 0.9, 1.0])
def test_a_solve_stops_as_soon_as_enough_is_proven(fraction):
    f, head = Case(1, nodes=200, width=16, degree=3).build()
    stop = CertifiedStop(Certifier(f), head, fraction)
    solution = solve(f, tol=1e-7, observer=stop)
    assert stop.reached
    assert solution.residual > 1e-7
    proven = is_certified(margins(head, solution.value), stop.certificate.bound)
    assert float(proven.double().mean()) >= fraction
    exact, _ = reference_equilibrium(f, solution.value)
    right = head.double()(exact).argmax(-1) == head.double()(solution.value.double()).argmax(-1)
    assert bool(right[proven].all())
    # The schedule looks a few times, not at every evaluation.
    assert stop.checks <= 4


def test_only_the_nodes_that_matter_count():
    f, head = Case(1, nodes=200, width=16, degree=3).build()
    certifier = Certifier(f)
    found = margins(head, solve(f, tol=1e-6).value)
    easy = found.margin.argsort(descending=True)[:20]
    every, some = CertifiedStop(certifier, head, 1.0), CertifiedStop(certifier, head, 1.0, easy)
    later = solve(f, tol=1e-7, observer=every).num_evals
    sooner = solve(f, tol=1e-7, observer=some).num_evals
    assert sooner < later


def test_where_rounding_stands_in_the_way_the_proof_is_exact():
    # Wide states: the allowance is far above what these residuals would leave to prove.
    f, head = Case(1, nodes=1500, width=96, degree=3, kappa=0.95).build()
    found = margins(head, solve(f, tol=1e-6).value)
    size = float(found.margin.quantile(0.01))
    hard = (found.margin < size).nonzero().squeeze(1)
    stop = CertifiedStop(Certifier(f), head, 0.8, hard)
    solution = solve(f, tol=1e-7, on_failure="return", observer=stop)
    assert stop.reached
    assert stop.certificate.evaluations == 1
    assert solution.residual > 1e-6


def test_what_cannot_be_proven_does_not_stop_the_solve():
    f, head = Case(1, nodes=50, width=16).build()
    head[-1].weight.data.zero_()
    head[-1].bias.data.zero_()
    stop = CertifiedStop(Certifier(f), head, 0.9)
    solution = solve(f, tol=1e-5, observer=stop)
    assert not stop.reached
    assert solution.residual <= 1e-5


def test_states_that_are_not_finite_are_never_proven():
    f, head = Case(1).build()
    stop = CertifiedStop(Certifier(f), head)
    evaluation = f.evaluate(torch.full_like(f.bias, torch.nan))
    assert not stop(1, evaluation)


def test_a_fraction_out_of_range_and_a_map_without_certificate_are_refused():
    f, head = Case(1).build()
    with pytest.raises(InputError, match="fraction must be above 0"):
        CertifiedStop(Certifier(f), head, 0.0)
    certifier = Certifier(f)
    certifier.reason = "no certificate: the reason"
    with pytest.raises(InputError, match="the reason; without one, stop on the residual"):
        CertifiedStop(certifier, head)


@pytest.mark.parametrize("some", [False, True])
def test_a_solve_in_another_order_gives_the_proof_in_the_users(some):
    f, head = Case(1, nodes=200, width=16, degree=3).build()
    nodes = torch.arange(0, 200, 3) if some else None
    before = CertifiedStop(Certifier(f), head, 0.9, nodes)
    plain = solve(f, tol=1e-7, observer=before)
    f.adjacency.order = ordered(f.adjacency, "rcm", 16)
    assert not torch.equal(f.adjacency.order.nodes, torch.arange(200))
    after = CertifiedStop(Certifier(f), head, 0.9, nodes)
    certifier = after.certifier
    turned = solve(f, tol=1e-7, observer=after)
    assert after.reached
    assert after.certifier is certifier
    assert turned.num_evals == plain.num_evals
    torch.testing.assert_close(turned.value, plain.value, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(after.certificate.bound, before.certificate.bound, rtol=0.02, atol=0)
    torch.testing.assert_close(
        after.certificate.rounding, before.certificate.rounding, rtol=0.02, atol=0
    )
    # The margins are those of the states that are returned, and so is the proof.
    value = turned.value if nodes is None else turned.value[nodes]
    torch.testing.assert_close(after.margins.margin, margins(head, value).margin)
    exact, _ = reference_equilibrium(f, turned.value)
    error = torch.linalg.vector_norm(turned.value.double() - exact, dim=-1)
    assert bool((after.certificate.bound >= error).all())


def test_it_is_called_only_where_it_wants_to_look():
    f, head = Case(1, nodes=200, width=16, degree=3).build()
    stop = CertifiedStop(Certifier(f), head, 0.9)
    seen, first = [], stop.looks_from

    class Watched(CertifiedStop):
        def __call__(self, spent, evaluation):
            seen.append((spent, self.looks_from))
            return super().__call__(spent, evaluation)

    stop.__class__ = Watched
    solution = solve(f, tol=1e-7, observer=stop)
    residuals = solution.trace[:, 0]
    assert seen[0][1] == first
    assert all(float(residuals[spent - 1]) <= wanted for spent, wanted in seen)
    # A guess and a proof are usual.
    assert len(seen) <= 4
    assert seen[-1][0] == solution.num_evals


def test_a_guess_says_about_which_residual_will_do():
    f, _ = Case(1, nodes=400, width=16, degree=3).build()
    certifier = Certifier(f)
    evaluation = f.evaluate(solve(f, tol=1e-2).value)
    guess, proof = certifier.guess(evaluation), certifier.observe(evaluation, enough=0.02)
    ratio = guess.bound / proof.bound
    assert float(ratio.median()) == pytest.approx(1, abs=0.1)
    assert guess.sweeps < proof.sweeps


@pytest.mark.parametrize("some", [False, True])
def test_of_many_nodes_a_guess_looks_at_a_part_and_the_proof_at_all(monkeypatch, some):
    f, head = Case(1, nodes=400, width=16, degree=3).build()
    nodes = torch.arange(0, 400, 2) if some else None
    whole = CertifiedStop(Certifier(f), head, 0.9, nodes)
    evals = solve(f, tol=1e-7, observer=whole).num_evals
    monkeypatch.setattr(stopping, "_ENOUGH_FOR_A_GUESS", 50)
    part = CertifiedStop(Certifier(f), head, 0.9, nodes)
    rows = []
    find = part.head.margins

    def noted(value, value_sq):
        rows.append(len(value))
        return find(value, value_sq)

    part.head.margins = noted
    solution = solve(f, tol=1e-7, observer=part)
    assert part.reached
    assert abs(solution.num_evals - evals) <= 3
    wanted = 400 if nodes is None else 200
    assert rows[0] == 50
    assert set(rows[1:]) == {wanted}
    assert part.margins.margin.shape == (wanted,)
    bound = part.certificate.bound if nodes is None else part.certificate.bound[nodes]
    assert float(is_certified(part.margins, bound).double().mean()) >= 0.9


def test_a_certificate_nearby_saves_sweeps_and_weakens_nothing():
    f, _ = Case(1, nodes=400, width=16, degree=3).build()
    certifier = Certifier(f)
    exact, _ = reference_equilibrium(f, f.start())
    first = certifier.observe(f.evaluate(solve(f, tol=2e-3).value), enough=0.1)
    evaluation = f.evaluate(solve(f, tol=1e-3).value)
    cold = certifier.observe(evaluation, enough=0.1)
    warm = certifier.observe(evaluation, enough=0.1, near=first)
    assert warm.sweeps < cold.sweeps
    torch.testing.assert_close(warm.bound, cold.bound, rtol=0.1, atol=0)
    # Whatever it starts from, even nonsense, what it gives is a bound.
    nonsense = replace(first, beyond=torch.rand_like(first.beyond))
    error = torch.linalg.vector_norm(evaluation.value.double() - exact, dim=-1)
    for near in (first, nonsense):
        for sweeps in (1, 3, 24):
            found = certifier.observe(evaluation, sweeps=sweeps, near=near)
            assert bool((found.bound >= error).all())


def test_a_close_miss_is_tightened_before_another_evaluation():
    f, head = Case(1, nodes=200, width=16, degree=3).build()
    stop = CertifiedStop(Certifier(f), head, 0.9)
    seen = []
    observe = stop.certifier.observe

    def noted(evaluation, **options):
        seen.append((evaluation, options["enough"]))
        return observe(evaluation, **options)

    def hopeful(evaluation):
        found = guess(evaluation)
        return replace(found, bound=torch.zeros_like(found.bound))

    # A guess that is too good lets the first proof miss.
    guess, stop.certifier.guess = stop.certifier.guess, hopeful
    stop.certifier.observe, stop._plausible = noted, lambda: True
    solve(f, tol=1e-7, observer=stop)
    assert stop.reached
    (first, enough), (second, tighter) = seen[:2]
    assert first is second
    assert tighter == enough / 4


def test_a_certified_prediction_is_not_overwritten_by_the_next():
    data, model = datasets.load("digits"), IGNN(64, 128, 10)
    first = model.predict(data, stop="certified", fraction=0.5)
    value, classes = first.solution.value.clone(), first.classes.clone()
    for scale in (0.5, 2.0):
        changed = data.clone()
        changed.x = scale * data.x
        model.predict(changed, stop="certified", fraction=0.5, on_failure="return")
    assert torch.equal(first.solution.value, value)
    assert torch.equal(first.classes, classes)
