"""The product inside compiled loops."""

import numpy as np
import pytest
import torch

pytest.importorskip("numba")

from ignn_solver.kernels.compiled import as_numpy
from ignn_solver.kernels.tiles import multiply, pack, pack_rounded
from ignn_solver.kernels.vectors import HAS_PAIRS

ROWS = [(0, 1, 0), (2, 9, 0), (1, 13, 20), (0, 20, 5)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("depth", "width"), [(1, 1), (3, 3), (4, 17), (17, 4), (128, 128), (5, 33), (7, 112), (9, 64)]
)
@pytest.mark.parametrize(("begin", "end", "shift"), ROWS)
@pytest.mark.parametrize("adds", [False, True])
def test_only_the_rows_asked_for_are_multiplied(depth, width, begin, end, shift, dtype, adds):
    generator = np.random.default_rng(0)
    x = generator.standard_normal((20, depth)).astype(dtype)
    weight = generator.standard_normal((depth, width)).astype(dtype)
    out = np.full((40, width), 7, dtype=dtype)
    multiply(x, begin, end, pack(weight), out, shift, adds)
    wanted = x[begin:end].astype(np.float64) @ weight + 7 * adds
    error = np.abs(out[shift + begin : shift + end] - wanted).max()
    assert error <= 8 * np.finfo(dtype).eps * np.abs(wanted).max() * depth
    untouched = np.delete(out, np.arange(shift + begin, shift + end), axis=0)
    assert (untouched == 7).all()


def test_a_row_gives_the_same_wherever_it_lies():
    generator = np.random.default_rng(0)
    row = generator.standard_normal(100).astype(np.float32)
    x = np.repeat(row[None], 31, 0)
    packed = pack(generator.standard_normal((100, 77)).astype(np.float32))
    out = np.empty((31, 77), dtype=np.float32)
    multiply(x, 0, 31, packed, out, 0, False)
    assert (out == out[0]).all()
    assert len(np.unique(out[0])) > 70


@pytest.mark.skipif(not HAS_PAIRS, reason="this processor multiplies no pairs of bfloat16")
@pytest.mark.parametrize(("depth", "width"), [(2, 1), (3, 3), (7, 17), (128, 128), (6, 112)])
@pytest.mark.parametrize(("begin", "end", "shift"), ROWS)
def test_rounded_rows_are_multiplied_as_what_they_are_rounded_to(depth, width, begin, end, shift):
    generator = torch.Generator().manual_seed(0)
    x, weight = torch.randn(20, depth, generator=generator), torch.randn(depth, width)
    rounded = torch.zeros(20, depth + depth % 2, dtype=torch.bfloat16)
    rounded[:, :depth] = x
    out = np.full((40, width), 7, dtype=np.float32)
    multiply(as_numpy(rounded), begin, end, pack_rounded(weight.numpy()), out, shift, False)
    wanted = (x.bfloat16().double() @ weight.bfloat16().double())[begin:end].numpy()
    error = np.abs(out[shift + begin : shift + end] - wanted).max()
    assert error <= 1e-6 * np.abs(wanted).max() * depth
    untouched = np.delete(out, np.arange(shift + begin, shift + end), axis=0)
    assert (untouched == 7).all()
