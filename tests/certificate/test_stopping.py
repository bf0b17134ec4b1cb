"""Solves that stop when the classes are proven."""

import pytest
import torch

from ignn_solver import IGNN, InputError, datasets, solve
from ignn_solver.certificate import CertifiedStop, Certifier, is_certified, margins
from ignn_solver.certificate.search import Case, reference_equilibrium


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
    f, head = Case(1, nodes=300, width=96, degree=3, kappa=0.95).build()
    found = margins(head, solve(f, tol=1e-6).value)
    size = float(found.margin.quantile(0.03))
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
