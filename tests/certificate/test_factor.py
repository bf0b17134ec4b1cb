"""The norms of a weight against what LAPACK says of them."""

import pytest
import torch

from ignn_solver.certificate.factor import absolute_norm


@pytest.mark.parametrize("width", [1, 2, 16, 64])
@pytest.mark.parametrize("seed", range(5))
def test_the_norm_of_the_absolute_values_is_bounded_closely(width, seed):
    generator = torch.Generator().manual_seed(seed)
    matrix = torch.randn(width, width, generator=generator, dtype=torch.float64)
    exact = float(torch.linalg.matrix_norm(matrix.abs(), 2))
    assert exact <= absolute_norm(matrix) <= exact * 1.05


def test_blocks_that_do_not_meet_are_bounded_all_the_same():
    matrix = torch.block_diag(torch.full((3, 3), -2.0), torch.ones(2, 2), torch.zeros(2, 2))
    found = absolute_norm(matrix)
    assert found == pytest.approx(6)
    assert found >= 6


@pytest.mark.parametrize("entry", [float("nan"), float("inf")])
def test_nothing_is_known_of_a_weight_that_is_not_finite(entry):
    assert absolute_norm(torch.tensor([[1.0, entry], [0.0, 1.0]])) == float("inf")


def test_no_weight_has_a_norm_that_can_be_divided_by():
    assert 0 < absolute_norm(torch.zeros(4, 4)) < 1e-20
