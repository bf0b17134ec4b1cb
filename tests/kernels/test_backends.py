"""The compiled kernels and those in plain torch give the same numbers."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from ignn_solver import kernels
from ignn_solver.kernels import compiled, plain, products
from ignn_solver.sparse import SparseMatrix
from problems import DOUBLE

TOLERANCE = {torch.float32: 1e-6, DOUBLE: 1e-12}


def random_matrix(rows: int, columns: int, entries: int, dtype: torch.dtype) -> SparseMatrix:
    row, col = torch.randint(rows, (entries,)), torch.randint(columns, (entries,))
    return SparseMatrix.from_coo(row, col, torch.rand(entries, dtype=dtype), (rows, columns))


def assert_same(one: torch.Tensor, other: torch.Tensor) -> None:
    """Equal to rounding, relative to the size of the whole."""
    assert one.dtype == other.dtype
    scale = other.abs().max()
    assert (one - other).abs().max() <= TOLERANCE[one.dtype] * scale.clamp_min(1e-30)


def operands(n: int, width: int, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    return tuple(torch.randn(n, width, dtype=dtype) for _ in range(3))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("n", "width"), [(1, 1), (30, 1), (30, 7), (9, 512)])
@pytest.mark.parametrize("kind", [*kernels.ACTIVATIONS, "scale"])
def test_evaluations_agree(kind, n, width, dtype):
    matrix = random_matrix(n, n, 3 * n, dtype)
    projected, bias, z = operands(n, width, dtype)
    scale = torch.rand(n, width, dtype=dtype) if kind == "scale" else None
    activation = None if kind == "scale" else kind
    arguments = (matrix, projected, bias, z, activation, scale)
    for one, other in zip(
        compiled.evaluate(*arguments, None), plain.evaluate(*arguments, None), strict=True
    ):
        assert_same(one, other)
    out = torch.full_like(z, torch.nan)
    for backend in (compiled, plain):
        y, residual_sq, value_sq = backend.evaluate(*arguments, out)
        assert y is out
        torch.testing.assert_close(residual_sq, (y - z).square().sum(1))
        torch.testing.assert_close(value_sq, y.square().sum(1))
    before = matrix.as_torch().to_dense() @ projected + bias
    expected = before * scale if scale is not None else getattr(torch, kind)(before)
    assert_same(y, expected)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("sizes", [(1,), (5, 1, 30, 2), (13,) * 40])
@pytest.mark.parametrize("width", [1, 7, 32, 40, 100, 300])
@pytest.mark.parametrize("kind", [*kernels.ACTIVATIONS, "scale"])
def test_an_evaluation_block_after_block_is_the_same(kind, width, sizes, dtype):
    ends = torch.tensor(sizes).cumsum(0)
    n = int(ends[-1])
    parts = [
        torch.randint(size, (2, 3 * size)) + end - size
        for size, end in zip(sizes, ends, strict=True)
    ]
    edges = torch.cat(parts, 1)
    matrix = SparseMatrix.from_coo(*edges, torch.rand(edges.shape[1], dtype=dtype), (n, n))
    z, bias, scale = operands(n, width, dtype)
    weight = torch.randn(width, width, dtype=dtype)
    blocks = np.append(0, ends.numpy())
    chosen = (None, scale) if kind == "scale" else (kind, None)
    found = kernels.evaluate_blocks(matrix, blocks, weight, bias, z, *chosen)
    for one, other in zip(
        found, plain.evaluate(matrix, z @ weight, bias, z, *chosen, None), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    # To the last bit where the products are the same: alone or in a batch, a graph stops at the same evaluation.
    projected = products.product(z, products.prepare(weight), torch.empty_like(z))
    for one, other in zip(
        found, kernels.evaluate(matrix, projected, bias, z, *chosen), strict=True
    ):
        assert torch.equal(one, other)


def test_an_evaluation_block_after_block_shows_what_is_not_a_number():
    matrix = SparseMatrix.from_coo(torch.arange(4), torch.arange(4), torch.ones(4), (4, 4))
    z = torch.zeros(4, 20)
    z[2, 3] = torch.nan
    y, residual_sq, _ = kernels.evaluate_blocks(
        matrix, np.array([0, 2, 4]), torch.eye(20), z.clone(), z, "relu"
    )
    assert y.isnan().any(1).tolist() == [False, False, True, False]
    assert residual_sq.isnan().tolist() == [False, False, True, False]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("width", [1, 3, 48, 512])
def test_products_agree_also_with_empty_rows(width, dtype):
    matrix = random_matrix(40, 25, 30, dtype)
    assert int((matrix.rowptr.diff() == 0).sum()) > 0
    x = torch.randn(25, width, dtype=dtype)
    assert_same(compiled.spmm(matrix, x), plain.spmm(matrix, x))
    nothing = random_matrix(4, 25, 0, dtype)
    assert torch.equal(compiled.spmm(nothing, x), torch.zeros(4, width, dtype=dtype))
    assert torch.equal(plain.spmm(nothing, x), torch.zeros(4, width, dtype=dtype))


@pytest.mark.parametrize("backend", [compiled, plain])
def test_64_bit_indices_give_the_same(backend):
    matrix = random_matrix(12, 12, 40, DOUBLE)
    projected, bias, z = operands(12, 3, DOUBLE)
    small = backend.evaluate(matrix, projected, bias, z, "relu", None, None)
    product = backend.spmm(matrix, z)
    wide = SparseMatrix(matrix.rowptr, matrix.col, matrix.value, matrix.shape)
    wide.rowptr, wide.col = matrix.rowptr.long(), matrix.col.long()
    large = backend.evaluate(wide, projected, bias, z, "relu", None, None)
    for one, other in zip(small, large, strict=True):
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(backend.spmm(wide, z), product)


@pytest.mark.parametrize("backend", [compiled, plain])
@pytest.mark.parametrize("kind", [*kernels.ACTIVATIONS, "scale"])
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_nan_reaches_the_rows_that_see_it_and_no_other(backend, kind, value):
    matrix = SparseMatrix.from_torch(
        torch.tensor([[1.0, 1, 0], [0, 1, 0], [0, 0, 1]]).to_sparse_csr()
    )
    projected, bias, z = operands(3, 2, torch.float32)
    projected[1] = value
    bias[0] = -value  # infinity minus infinity
    scale = torch.ones(3, 2) if kind == "scale" else None
    y, residual_sq, value_sq = backend.evaluate(
        matrix, projected, bias, z, None if scale is not None else kind, scale, None
    )
    assert y[0].isnan().all()
    assert residual_sq[0].isnan()
    assert value_sq[0].isnan()
    assert y[2].isfinite().all()
    assert residual_sq[2].isfinite()
    assert not backend.spmm(matrix, projected)[:2].isfinite().any()


@pytest.mark.parametrize("backend", [compiled, plain])
def test_operands_need_not_be_contiguous_and_are_not_changed(backend):
    matrix = random_matrix(6, 6, 20, DOUBLE)
    projected, bias, z = operands(6, 4, DOUBLE)
    expected = backend.evaluate(matrix, projected, bias, z, "tanh", None, None)
    turned = [one.T.contiguous().T for one in (projected, bias, z)]
    copies = [one.clone() for one in turned]
    found = backend.evaluate(matrix, *turned, "tanh", None, None)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    assert all(torch.equal(one, other) for one, other in zip(turned, copies, strict=True))


def test_rows_are_split_completely_for_any_number_of_threads():
    for entries in (0, 1, 50, 4000):
        matrix = random_matrix(37, 37, entries, DOUBLE)
        splits = matrix.splits
        assert splits[0] == 0
        assert splits[-1] == 37
        assert (splits[1:] >= splits[:-1]).all()


def test_the_environment_chooses_the_backend(monkeypatch):
    matrix = random_matrix(5, 5, 9, DOUBLE)
    z = torch.randn(5, 2, dtype=DOUBLE)
    assert kernels.backend() == "numba"
    with_numba = kernels.spmm(matrix, z)
    monkeypatch.setenv("IGNN_SOLVER_KERNELS", "torch")
    assert kernels.backend() == "torch"
    torch.testing.assert_close(kernels.spmm(matrix, z), with_numba)
    assert kernels.evaluate(matrix, z, z, z, "sigmoid")[0].shape == (5, 2)


def test_a_solve_leaves_the_number_of_threads_alone():
    pytest.importorskip("numba")
    # Numba starts its threads once in a process.
    program = (
        "import torch\ntorch.set_num_threads(1)\nimport ignn_solver as ig\n"
        "a = ig.Adjacency.from_edge_index(torch.tensor([[0, 1], [1, 0]]), num_nodes=2)\n"
        "f = ig.EquilibriumMap(a, 0.5 * torch.eye(3), torch.ones(2, 3), ig.Contraction(0.5))\n"
        "ig.solve(f)\nprint(torch.get_num_threads())\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert found.stdout.split() == ["1"]
