"""The sparse matrix and its product, against dense ones."""

import gc
import weakref

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ignn_solver.errors import InputError
from ignn_solver.sparse import SparseMatrix, entry_dots
from problems import DOUBLE


def random_coo(rows: int, columns: int, entries: int) -> tuple[torch.Tensor, ...]:
    row = torch.randint(rows, (entries,))
    col = torch.randint(columns, (entries,))
    return row, col, torch.randn(entries, dtype=DOUBLE)


def to_dense(matrix: SparseMatrix) -> torch.Tensor:
    dense = torch.zeros(matrix.shape, dtype=matrix.dtype)
    return dense.index_put((matrix.row.long(), matrix.col.long()), matrix.value, accumulate=True)


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 30), st.integers(0, 999))
def test_entries_in_any_order_are_merged_by_their_sum(rows, columns, entries, seed):
    torch.manual_seed(seed)
    row, col, value = random_coo(rows, columns, entries)
    expected = torch.zeros(rows, columns, dtype=DOUBLE)
    expected.index_put_((row, col), value, accumulate=True)
    matrix = SparseMatrix.from_coo(row, col, value, (rows, columns))
    assert matrix.num_entries == len(set(zip(row.tolist(), col.tolist(), strict=True)))
    torch.testing.assert_close(to_dense(matrix), expected)
    torch.testing.assert_close(to_dense(matrix.transpose), expected.T)
    torch.testing.assert_close(to_dense(matrix.transpose.transpose), expected)


def test_the_largest_of_repeated_entries_counts_under_amax():
    row, col = torch.tensor([1, 0, 1]), torch.tensor([0, 1, 0])
    matrix = SparseMatrix.from_coo(row, col, torch.tensor([2.0, 5.0, -3.0]), (2, 2), "amax")
    assert to_dense(matrix).tolist() == [[0, 5], [2, 0]]


def test_indices_are_32_bit():
    matrix = SparseMatrix.from_coo(*random_coo(5, 5, 9), (5, 5))
    assert matrix.rowptr.dtype == matrix.col.dtype == torch.int32
    assert matrix.row.dtype == torch.int32


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_every_torch_layout_gives_the_same_matrix(layout):
    dense = torch.randn(5, 4, dtype=DOUBLE).relu()
    sparse = getattr(
        dense, {"coo": "to_sparse", "csr": "to_sparse_csr", "csc": "to_sparse_csc"}[layout]
    )()
    matrix = SparseMatrix.from_torch(sparse)
    assert matrix.num_entries == int((dense != 0).sum())
    assert torch.equal(to_dense(matrix), dense)
    assert torch.equal(matrix.as_torch().to_dense(), dense)


@given(
    st.integers(1, 6), st.integers(1, 6), st.integers(0, 20), st.integers(1, 5), st.integers(0, 999)
)
def test_product_equals_the_dense_one(rows, columns, entries, width, seed):
    torch.manual_seed(seed)
    matrix = SparseMatrix.from_coo(*random_coo(rows, columns, entries), (rows, columns))
    x = torch.randn(columns, width, dtype=DOUBLE)
    torch.testing.assert_close(matrix @ x, to_dense(matrix) @ x)
    torch.testing.assert_close(matrix.matmul(x[:, 0]), to_dense(matrix) @ x[:, 0])
    turned = x.T.contiguous().T
    torch.testing.assert_close(matrix @ turned, to_dense(matrix) @ x)


def test_product_is_differentiable_in_values_and_matrix():
    row, col, value = random_coo(5, 4, 9)
    matrix = SparseMatrix.from_coo(row, col, value, (5, 4))
    values = matrix.value.clone().requires_grad_()
    x = torch.randn(4, 3, dtype=DOUBLE, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v, y: matrix.with_value(v).matmul(y), (values, x))


def test_entry_dots_in_small_chunks_equal_those_in_one():
    matrix = SparseMatrix.from_coo(*random_coo(6, 5, 17), (6, 5))
    left, right = torch.randn(6, 3, dtype=DOUBLE), torch.randn(5, 3, dtype=DOUBLE)
    expected = (left @ right.T)[matrix.row.long(), matrix.col.long()]
    torch.testing.assert_close(entry_dots(matrix, left, right), expected)
    torch.testing.assert_close(entry_dots(matrix, left, right, chunk=4), expected)
    empty = SparseMatrix.from_coo(*random_coo(6, 5, 0), (6, 5))
    assert entry_dots(empty, left, right).shape == (0,)


def test_other_values_share_the_places_and_the_transpose():
    matrix = SparseMatrix.from_coo(*random_coo(6, 5, 17), (6, 5))
    assert matrix.transpose is matrix.transpose
    other = matrix.with_value(matrix.value * 2)
    assert other.row is matrix.row
    torch.testing.assert_close(to_dense(other.transpose), 2 * to_dense(matrix).T)
    single = matrix.to(torch.float32)
    assert single.dtype == torch.float32
    assert matrix.to(DOUBLE) is matrix


def test_a_symmetric_matrix_is_its_own_transpose_and_is_freed_without_the_collector():
    matrix = SparseMatrix.from_torch(torch.eye(3).to_sparse_csr())
    matrix.symmetric = True
    assert matrix.transpose is matrix
    assert matrix.to(DOUBLE).symmetric
    assert not matrix.with_value(torch.rand(3)).symmetric
    matrix.matmul(torch.ones(3, 1))
    seen = weakref.ref(matrix)
    gc.disable()
    try:
        del matrix
        assert seen() is None
    finally:
        gc.enable()


def test_wrong_shapes_are_refused():
    matrix = SparseMatrix.from_coo(*random_coo(6, 5, 7), (6, 5))
    with pytest.raises(InputError, match="cannot multiply a matrix with 6 rows: give 5 rows"):
        matrix.matmul(torch.ones(6, 2, dtype=DOUBLE))
    with pytest.raises(InputError, match="2 dimensions, not 3"):
        SparseMatrix.from_torch(torch.ones(2, 2, 2).to_sparse())


def test_repr_names_shape_and_entries():
    matrix = SparseMatrix.from_torch(torch.eye(3).to_sparse_csr())
    assert repr(matrix) == "SparseMatrix(3 x 3, 3 entries, torch.float32)"
