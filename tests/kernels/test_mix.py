"""The learned step: what it says, whatever the layout."""

import pytest
import torch

from ignn_solver import kernels
from problems import DOUBLE

TOLERANCE = {torch.float32: 1e-6, DOUBLE: 1e-13}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("momentum", [True, False])
@pytest.mark.parametrize(
    ("rows", "width", "rank"), [(1, 1, 1), (300, 7, 2), (513, 16, 0), (5, 64, 8), (700, 512, 3)]
)
def test_a_step_is_what_it_says(rows, width, rank, momentum, dtype):
    z, image, previous = torch.randn(3, rows, width, dtype=dtype).unbind()
    left = torch.randn((1 + momentum) * width, rank or width, dtype=dtype)
    right = torch.randn(rank, width, dtype=dtype)
    regressors = torch.cat([image - z, z - previous][: 1 + momentum], 1)
    expected = image + (regressors @ left if rank == 0 else regressors @ left @ right)
    kept = [one.clone() for one in (z, image, previous)]
    out = torch.full_like(z, torch.nan)
    found = kernels.mix(z, image, previous, left, right, out)
    assert found is out
    assert (found - expected).abs().max() <= TOLERANCE[dtype] * expected.abs().max() * width
    assert all(
        torch.equal(one, other) for one, other in zip((z, image, previous), kept, strict=True)
    )
    turned = [one.T.contiguous().T for one in (z, image, previous, left, right)]
    again = kernels.mix(*turned, torch.empty_like(z))
    assert (again - found).abs().max() <= TOLERANCE[dtype] * expected.abs().max() * width


def test_every_row_is_finished_once():
    z, image, previous = torch.randn(3, 9000, 64).unbind()
    left, right = torch.randn(128, 4), torch.randn(4, 64)
    raw = kernels.mix(z, image, previous, left, right, torch.empty_like(z))
    out = torch.empty_like(z)
    found = kernels.mix(z, image, previous, left, right, out, lambda part: part.add_(1))
    assert torch.equal(found, raw + 1)


@pytest.mark.parametrize("momentum", [True, False])
@pytest.mark.parametrize(("rows", "width", "rank"), [(1, 1, 1), (300, 7, 2), (513, 16, 0)])
def test_matrices_in_bfloat16_round_the_correction_alone(rows, width, rank, momentum):
    z, previous = torch.randn(2, rows, width).unbind()
    image = z + 1e-3 * torch.randn(rows, width)
    previous = z + 1e-3 * previous
    left = torch.randn((1 + momentum) * width, rank or width)
    right = torch.randn(rank, width)
    exact = kernels.mix(z, image, previous, left, right, torch.empty_like(z))
    rough = kernels.mix(z, image, previous, left.bfloat16(), right.bfloat16(), torch.empty_like(z))
    assert (rough - exact).norm() <= 0.02 * (exact - image).norm() + 1e-6 * image.norm()
    assert rough.dtype == torch.float32
