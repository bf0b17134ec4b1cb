import pytest
import torch

from ignn_solver.errors import InputError
from ignn_solver.learning.losses import LossWeights, relative_distance, total_loss


def test_schedules_over_the_steps():
    assert LossWeights(schedule="linear").step_weights(3) == pytest.approx([1 / 6, 2 / 6, 3 / 6])
    assert LossWeights(schedule="constant").step_weights(4) == [0.25] * 4
    assert LossWeights(schedule="last").step_weights(3) == [0, 0, 1]
    with pytest.raises(InputError, match="unknown loss schedule"):
        LossWeights(schedule="random")


def test_the_total_at_the_start_and_the_end_of_training():
    target = torch.tensor([[3.0, 4.0]])
    guess, first, second = target + 5, target * 2, target.clone()
    weights = LossWeights(reconstruction=0.6, initial=2.0, alpha=0.1, schedule="linear")
    mixed = [torch.tensor(0.5), torch.tensor(0.25)]
    initial = 2.0 * float(relative_distance(guess, target))
    begin = total_loss(guess, [first, second], mixed, target, weights, 0.0)
    assert float(begin) == pytest.approx(initial + 0.1 * 0.75)
    end = total_loss(guess, [first, second], mixed, target, weights, 1.0)
    assert float(end) == pytest.approx(initial + 0.6 * (1 / 3) * 1.0)
