"""A row of a sparse matrix times two columns, against a dense product."""

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from ignn_solver.kernels.pairs import pair_product  # noqa: E402


@numba.njit
def products(rowptr, col, value, x):
    out = np.empty((len(rowptr) - 1, 2), x.dtype)
    for i in range(len(rowptr) - 1):
        out[i, 0], out[i, 1] = pair_product(col, value, x, rowptr[i], rowptr[i + 1])
    return out


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("entries", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_of_every_length_are_multiplied(index, entries, kind):
    random = np.random.default_rng(0)
    lengths = np.array([0, 1, 2, 3, 4, 5, 7, 8, 9, 40, 0])
    rowptr = np.concatenate([[0], lengths.cumsum()]).astype(index)
    col = random.integers(0, 50, rowptr[-1]).astype(index)
    value, x = random.normal(size=rowptr[-1]).astype(entries), random.normal(size=(50, 2))
    x = x.astype(kind)
    dense = np.zeros((len(lengths), 50))
    np.add.at(dense, (np.repeat(np.arange(len(lengths)), lengths), col), value)
    tolerance = 1e-12 if entries == kind == np.float64 else 1e-5
    found = products(rowptr, col, value, x)
    assert found.dtype == kind
    np.testing.assert_allclose(found, dense @ x, rtol=0, atol=tolerance)


def test_what_is_not_finite_stays_so():
    rowptr, col = np.array([0, 2]), np.array([0, 1])
    x = np.array([[1.0, np.nan], [np.inf, 1.0]])
    found = products(rowptr, col, np.ones(2), x)
    assert found[0, 0] == np.inf
    assert np.isnan(found[0, 1])
