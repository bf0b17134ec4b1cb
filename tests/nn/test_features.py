"""Dense and sparse features give the same, and sparse ones are never made dense."""

import gc
import resource
import weakref

import pytest
import torch

from ignn_solver.errors import InputError
from ignn_solver.nn.conv import IGNNConv
from ignn_solver.nn.features import FeatureLinear, check_features, rows_of
from problems import DOUBLE

LAYOUTS = {
    "csr": torch.Tensor.to_sparse_csr,
    "csc": torch.Tensor.to_sparse_csc,
    "coo": torch.Tensor.to_sparse,
}


def sparse_like(rows: int, columns: int) -> torch.Tensor:
    x = torch.randn(rows, columns, dtype=DOUBLE)
    x[torch.rand_like(x) < 0.7] = 0
    return x


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sparse_equals_dense_with_gradients(layout, bias):
    x = sparse_like(9, 6)
    linear = FeatureLinear(6, 4, bias).to(DOUBLE)
    if bias:
        torch.nn.init.uniform_(linear.bias)
    upstream = torch.randn(9, 4, dtype=DOUBLE)
    dense = linear(x)
    expected = torch.autograd.grad(dense, list(linear.parameters()), upstream)
    torch.testing.assert_close(dense, x @ linear.weight + (linear.bias if bias else 0))
    sparse = linear(LAYOUTS[layout](x))
    torch.testing.assert_close(sparse, dense)
    for one, other in zip(
        torch.autograd.grad(sparse, list(linear.parameters()), upstream), expected, strict=True
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_unit_rows_give_the_same_whatever_their_length_and_layout(layout):
    x = sparse_like(9, 6)
    x[4] = 0
    linear = FeatureLinear(6, 4, unit=True).to(DOUBLE)
    rows = x / x.norm(dim=1, keepdim=True).clamp_min(1e-12)
    expected = rows @ linear.weight + linear.bias
    stretched = x * torch.rand(9, 1, dtype=DOUBLE).add(0.1)
    for features in (x, stretched):
        torch.testing.assert_close(linear(features), expected)
        torch.testing.assert_close(linear(LAYOUTS[layout](features)), expected)
    linear.unit = False
    torch.testing.assert_close(linear(LAYOUTS[layout](x)), linear(x))


def test_gradcheck_on_sparse_features():
    x = sparse_like(5, 4).to_sparse_csr()
    linear = FeatureLinear(4, 3).to(DOUBLE)
    weight = linear.weight.detach().clone().requires_grad_()

    def apply(weight: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(linear, {"weight": weight}, (x,))

    assert torch.autograd.gradcheck(apply, weight)


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_dropout_drops_the_stated_share_and_keeps_the_mean(layout):
    x = torch.ones(300, 200)
    linear = FeatureLinear(200, 1, bias=False, dropout=0.4)
    torch.nn.init.eye_(linear.weight.data)  # the output is the first column of X
    given_x = x if layout == "dense" else x.to_sparse_csr()
    first = torch.cat([linear(given_x)[:, 0] for _ in range(20)])
    assert first.unique().tolist() == [0.0, pytest.approx(1 / 0.6)]
    share = float((first == 0).float().mean())
    assert share == pytest.approx(0.4, abs=4 * (0.4 * 0.6 / len(first)) ** 0.5)
    linear.eval()
    assert torch.equal(linear(given_x)[:, 0], x[:, 0])


def test_dropout_of_sparse_features_has_the_gradient_of_what_was_kept():
    x = sparse_like(8, 5)
    linear = FeatureLinear(5, 5, bias=False, dropout=0.5).to(DOUBLE)
    with torch.no_grad():
        linear.weight.copy_(torch.eye(5))
    kept = linear(x.to_sparse_csr())  # W is the identity: this is X after dropout
    assert ((kept == 0) | torch.isclose(kept, 2 * x)).all()
    assert (kept != 2 * x).any()
    upstream = torch.randn(8, 5, dtype=DOUBLE)
    (gradient,) = torch.autograd.grad(kept, linear.weight, upstream)
    torch.testing.assert_close(gradient, kept.detach().T @ upstream)


def test_a_huge_sparse_matrix_is_never_made_dense():
    """Dense it would take 4 GB; a forward and a backward pass take a few megabytes."""
    rows, columns, per_row = 20_000, 50_000, 3
    rowptr = torch.arange(0, rows * per_row + 1, per_row)
    col = torch.randint(columns, (rows, per_row)).sort(1).values.flatten()
    x = torch.sparse_csr_tensor(
        rowptr, col, torch.ones(rows * per_row), (rows, columns), check_invariants=False
    )
    conv = IGNNConv(columns, 4, 0.5, dropout=0.5)
    edges = torch.stack([torch.arange(rows - 1), torch.arange(1, rows)])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    conv(x, edges).sum().backward()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert conv.input.weight.grad.abs().sum() > 0
    assert after - before < 200_000  # kilobytes


@pytest.mark.parametrize("layout", ["dense", *LAYOUTS])
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_non_finite_features_are_refused(layout, value):
    x = torch.ones(4, 3)
    x[2, 1] = value
    place = "row 2" if layout == "dense" else "stored entry"
    given_x = x if layout == "dense" else LAYOUTS[layout](x)
    with pytest.raises(InputError, match=f"NaN or infinity .first in {place}.*clean or impute"):
        check_features(given_x, 4, 3)


def test_uncoalesced_features_are_checked_and_used():
    index = torch.tensor([[0, 0, 1], [1, 1, 0]])
    x = torch.sparse_coo_tensor(
        index, torch.tensor([1.0, 2.0, 3.0]), (2, 2), check_invariants=False
    )
    check_features(x, 2, 2)
    linear = FeatureLinear(2, 3)
    torch.testing.assert_close(linear(x), linear(x.to_dense()))


def test_a_checked_matrix_that_is_spoilt_later_is_caught():
    x = torch.ones(4, 3)
    check_features(x, 4, 3)
    x[0, 0] = torch.nan
    with pytest.raises(InputError, match="row 0"):
        check_features(x, 4, 3)


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ((3, 3), r"shape \(3, 3\) for 4 nodes: give one row a node"),
        ((4,), r"shape \(4,\) for 4 nodes"),
        ((4, 2), "2 columns, but the model was made for 3"),
    ],
)
def test_wrong_shapes_are_refused(shape, sentence):
    with pytest.raises(InputError, match=sentence):
        check_features(torch.ones(shape), 4, 3)


def test_reset_and_repr():
    linear = FeatureLinear(5, 4, dropout=0.25)
    before = linear.weight.detach().clone()
    linear.reset_parameters()
    assert not torch.equal(linear.weight, before)
    assert torch.equal(linear.bias, torch.zeros(4))
    assert repr(linear) == "FeatureLinear(5, 4, dropout=0.25)"


def test_nothing_is_kept_of_sparse_features_that_are_gone():
    linear = FeatureLinear(4, 2)
    x = torch.eye(4).to_sparse_csr()
    linear(x)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None


def test_rows_of_sparse_features_are_those_of_dense_ones():
    x, rows = torch.randn(6, 4).relu(), torch.tensor([5, 1, 1])
    assert torch.equal(rows_of(x, rows), x[rows])
    assert torch.equal(rows_of(x.to_sparse_csr(), rows).to_dense(), x[rows])
