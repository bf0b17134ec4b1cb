"""Margins against the heads they speak of."""

import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from ignn_solver import InputError
from ignn_solver.certificate import head_lipschitz, margins


def linear(weight, bias=None):
    weight = torch.tensor(weight)
    head = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    head.weight.data = weight
    if bias is not None:
        head.bias.data = torch.tensor(bias)
    return head


def test_the_margin_of_a_linear_head_is_the_distance_to_the_nearest_boundary():
    head = linear([[1.0, 0.0], [-1.0, 0.0], [0.0, 3.0]])
    states = torch.tensor([[2.0, 0.0]])
    found = margins(head, states)
    assert found.classes.tolist() == [0]
    # Scores 2, -2, 0: boundaries at 4 / 2 and 2 / sqrt(10).
    assert float(found.margin) == pytest.approx(2 / math.sqrt(10), rel=1e-5)
    # In the infinity norm a state may move in both coordinates at once.
    assert float(margins(head, states, "inf").margin) == pytest.approx(2 / 4, rel=1e-5)


def test_a_tie_has_no_margin_and_a_twin_class_needs_none():
    tied = linear([[1.0], [1.0]])
    assert float(margins(tied, torch.ones(1, 1)).margin) == 0
    # The scores differ by a constant: no move can change the class.
    twins = linear([[1.0], [1.0]], [1.0, 0.0])
    assert float(margins(twins, torch.ones(1, 1)).margin) == math.inf


def test_a_single_class_is_always_sure():
    assert margins(linear([[1.0]]), torch.ones(2, 1)).margin.tolist() == [math.inf, math.inf]


def mlp(seed, layers, norm_layer, dtype):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        parts = []
        for _ in range(layers):
            parts += [nn.Linear(5, 5), nn.Dropout(0.5), nn.Tanh() if seed % 2 else nn.ReLU()]
        if norm_layer:
            one = nn.BatchNorm1d(5)
            one.running_mean.normal_()
            one.running_var.uniform_(0.2, 3)
            nn.init.normal_(one.weight)
            nn.init.normal_(one.bias)
            parts.append(one)
        return nn.Sequential(*parts, nn.Linear(5, 4)).to(dtype).eval()


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(
    st.integers(0, 10**6),
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from([torch.float32, torch.float64]),
    st.sampled_from(["2", "inf"]),
)
def test_no_move_inside_the_margin_changes_the_class(seed, layers, norm_layer, dtype, norm):
    head = mlp(seed, layers, norm_layer, dtype)
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(20, 5, generator=generator, dtype=dtype)
    found = margins(head, states, norm)
    assert float(found.margin.median()) > 0
    torch.testing.assert_close(found.scores, head(states))
    exact = copy.deepcopy(head).double()
    # Move along the gradient towards each other class, and at random, to the edge of the margin.
    for target in range(4):
        point = states.double().requires_grad_()
        scores = exact(point)
        rise = scores[:, target] - scores.gather(1, found.classes.unsqueeze(1)).squeeze(1)
        (direction,) = torch.autograd.grad(rise.sum(), point)
        direction = direction.sign() if norm == "inf" else direction
        direction = direction + 1e-9 * torch.randn_like(direction)
        size = torch.linalg.vector_norm(direction, torch.inf if norm == "inf" else 2, dim=-1)
        step = 0.999999 * found.margin.unsqueeze(1) * direction / size.unsqueeze(1)
        sure = found.margin > 0
        assert bool((exact(states.double() + step).argmax(-1) == found.classes)[sure].all())


def test_the_lipschitz_bound_is_the_product_of_the_layers():
    head = nn.Sequential(linear([[3.0, 0.0], [0.0, 1.0]]), nn.ReLU(), linear([[2.0, 0.0]]))
    assert head_lipschitz(head) == pytest.approx(6)
    assert head_lipschitz(head, "inf") == pytest.approx(6)


def test_rounding_of_the_scores_is_taken_off():
    # The gap is smaller than what summing 1000 terms of size 1 in float32 can lose.
    weight = torch.ones(2, 1000)
    weight[0, 0] = 1 + 1e-5
    head = nn.Linear(1000, 2, bias=False)
    head.weight.data = weight
    assert float(margins(head, torch.ones(1, 1000)).margin) == 0
    head.weight.data[0, 0] = 2.0
    assert float(margins(head, torch.ones(1, 1000)).margin) > 0.8


@pytest.mark.parametrize(
    ("head", "match"),
    [
        (nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 2)), "LayerNorm cannot be bounded"),
        (nn.Sequential(nn.Linear(3, 2), nn.ReLU()), "end it in nn.Linear"),
        (nn.Sequential(), "empty head"),
        (
            nn.Sequential(nn.BatchNorm1d(3, track_running_stats=False), nn.Linear(3, 2)),
            "without running statistics",
        ),
    ],
)
def test_heads_that_cannot_be_bounded_are_named(head, match):
    with pytest.raises(InputError, match=match):
        margins(head, torch.ones(1, 3))
