"""Predictions with their proofs."""

import pytest
import torch
from torch_geometric.data import Data

from ignn_solver import IGNN, Anderson, InputError, SolveError, Status


@pytest.fixture
def data():
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(0, 150, (2, 400), generator=generator)
    return Data(x=torch.randn(150, 10, generator=generator), edge_index=edges)


@pytest.fixture
def model():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return IGNN(10, 16, 4, kappa=0.9)


def test_nothing_is_proven_unless_asked(model, data):
    out = model.predict(data)
    assert out.margin is None
    assert out.bound is None
    assert out.certified is None
    assert out.solution.residual <= 1e-3


@pytest.mark.parametrize("certify", [True, "exact"])
@pytest.mark.parametrize("solver", [None, Anderson()])
def test_certified_classes_are_those_of_the_equilibrium(model, data, certify, solver):
    out = model.predict(data, certify=certify, solver=solver)
    truth = model.double().predict(Data(data.x.double(), data.edge_index), tol=1e-12)
    assert float(out.certified.double().mean()) > 0.5
    assert bool((out.classes == truth.classes)[out.certified].all())
    assert torch.equal(out.certified, out.margin > out.bound)
    error = (out.solution.value - truth.solution.value).norm(dim=-1)
    # The two models differ by the rounding of W and b as well, which no certificate covers.
    assert bool((out.bound + 1e-4 >= error).all())
    torch.testing.assert_close(out.probabilities.sum(-1), torch.ones(150))


def test_the_classes_do_not_depend_on_the_proof(model, data):
    plain, proven = model.predict(data), model.predict(data, certify=True)
    assert torch.equal(plain.classes, proven.classes)
    torch.testing.assert_close(plain.probabilities, proven.probabilities)


def test_stopping_when_proven_saves_evaluations_and_keeps_the_classes(model, data):
    proven = model.predict(data, stop="certified", fraction=0.9)
    tight = model.predict(data, tol=1e-6)
    assert float(proven.certified.double().mean()) >= 0.9
    assert proven.solution.num_evals < tight.solution.num_evals
    assert bool((proven.classes == tight.classes)[proven.certified].all())
    assert proven.solution.status is Status.CONVERGED


@pytest.mark.parametrize("ids", [[3], torch.tensor([0, 7]), torch.arange(150) < 5])
def test_the_nodes_that_matter_can_be_named(model, data, ids):
    out = model.predict(data, stop="certified", fraction=1.0, nodes=ids)
    assert bool(out.certified[ids].all())


def test_what_stays_unproven_is_said(model, data):
    model.head.weight.data.zero_()
    model.head.bias.data.zero_()
    with pytest.warns(RuntimeWarning, match=r"0\.00% of the nodes are proven .* wanted 99\.00%"):
        model.predict(data, stop="certified")
    with pytest.raises(SolveError, match="lower fraction"):
        model.predict(data, stop="certified", on_failure="raise")
    out = model.predict(data, stop="certified", on_failure="return")
    assert not bool(out.certified.any())


def test_where_nothing_can_be_proven_the_reason_is_given(model, data):
    model.conv.weight.kappa = 1.5
    with pytest.warns(RuntimeWarning, match="a proof needs a factor below 1"):
        out = model.predict(data, certify=True, max_evals=3, tol=1.0)
    assert not bool(out.certified.any())
    assert not bool(torch.isfinite(out.bound).any())
    with pytest.raises(InputError, match="stop on the residual"):
        model.predict(data, stop="certified")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"certify": "maybe"}, 'certify must be True, False or "exact"'),
        ({"stop": "soon"}, 'stop must be "residual" or "certified"'),
        ({"stop": "certified", "nodes": [150]}, "node 150, but the graph has nodes 0 to 149"),
        ({"stop": "certified", "nodes": [-1]}, "node -1"),
        ({"stop": "certified", "nodes": []}, "names no node"),
        ({"stop": "certified", "nodes": torch.ones(3, dtype=torch.bool)}, "a mask of shape"),
    ],
)
def test_wrong_arguments_are_named(model, data, options, match):
    with pytest.raises(InputError, match=match):
        model.predict(data, **options)
