"""A small trained-looking model on a small graph: what is timed does not matter here."""

import pytest
import torch

from ignn_solver import IGNN, datasets
from ignn_solver.benchmark.problem import Problem


@pytest.fixture(scope="package")
def problem() -> Problem:
    torch.manual_seed(0)
    data = datasets.load("blocks:200")
    return Problem("blocks:200", IGNN(data.num_features, 8, data.num_classes), data, tol=1e-3)
