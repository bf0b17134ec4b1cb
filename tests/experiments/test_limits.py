import time

import pytest
import torch

from ignn_solver.experiments.limits import LimitError, foretell, memory_limit, time_limit


def test_a_block_that_runs_too_long_is_stopped():
    with pytest.raises(LimitError, match="not done after 0 s, the limit"), time_limit(0.02):
        time.sleep(30)
    with time_limit(60):
        pass


def test_a_block_that_asks_for_too_much_is_stopped():
    with pytest.raises(LimitError, match=r"needs more than 0\.5 GiB"), memory_limit(0.5):
        torch.empty(2**30)
    assert torch.empty(2**28).numel() == 2**28


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="shapes"), memory_limit(1):
        torch.ones(2, 3) @ torch.ones(2, 3)


def test_the_third_epoch_foretells_the_rest():
    look = foretell(epochs=100, limit=360.0)
    look(0, {"seconds": 50.0})
    look(1, {"seconds": 4.0})
    with pytest.raises(LimitError, match=r"100 epochs would take about 7 min at 4 s each .*6 min"):
        look(2, {"seconds": 4.0})
    calm = foretell(epochs=100, limit=3600.0)
    for epoch in range(5):
        calm(epoch, {"seconds": 1.0})
