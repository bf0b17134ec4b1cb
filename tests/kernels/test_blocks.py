"""The product inside a sweep."""

import numpy as np
import pytest

from ignn_solver.kernels.blocks import multiply


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 4, 17, 128])
@pytest.mark.parametrize(("begin", "end", "shift"), [(0, 1, 0), (2, 9, 0), (1, 13, 20)])
def test_only_the_rows_asked_for_are_multiplied(width, begin, end, shift, dtype):
    generator = np.random.default_rng(0)
    x = generator.standard_normal((20, width)).astype(dtype)
    weight = generator.standard_normal((width, width)).astype(dtype)
    out = np.full((40, width), 7, dtype=dtype)
    multiply(x, begin, end, weight, out, shift)
    wanted = x[begin:end].astype(np.float64) @ weight
    error = np.abs(out[shift + begin : shift + end] - wanted).max()
    assert error <= 8 * np.finfo(dtype).eps * np.abs(wanted).max() * width
    untouched = np.delete(out, np.arange(shift + begin, shift + end), axis=0)
    assert (untouched == 7).all()
