import pytest
import torch

from ignn_solver.errors import InputError
from ignn_solver.learning.initializer import (
    GraphInitializer,
    MlpInitializer,
    ZeroInitializer,
    initializer,
)


def test_no_guess_is_the_image_of_zero(f):
    torch.testing.assert_close(ZeroInitializer()(f), f(torch.zeros_like(f.bias)))


def test_untrained_graph_layers_are_plain_steps(f):
    guess = GraphInitializer(16, layers=2)
    assert guess.evaluations == 2
    torch.testing.assert_close(guess(f), f(f(f.start())))


@pytest.mark.parametrize("source", ["b", "x", "bx"])
def test_rows_are_guessed_alone_as_with_all_others(f, source):
    guess = MlpInitializer(16, source, f.features.shape[1])
    rows = torch.tensor([3, 1, 3])
    torch.testing.assert_close(guess(f, rows), guess(f)[rows])


@pytest.mark.parametrize("source", ["b", "x"])
def test_the_perceptron_sees_only_the_nodes_own_row(f, source):
    guess = MlpInitializer(16, source, f.features.shape[1])
    changed = f.features.clone() if source == "x" else f.bias.clone()
    changed[7] += 1
    other = type(f)(
        f.adjacency,
        f.weight,
        changed if source == "b" else f.bias,
        f.contraction,
        f.activation,
        changed if source == "x" else f.features,
    )
    moved = (guess(other) - guess(f)).abs().amax(1)
    assert moved[7] > 0
    assert moved[torch.arange(len(moved)) != 7].amax() == 0


def test_names_and_mistakes(f):
    assert initializer("graph2", 16).evaluations == 2
    with pytest.raises(InputError, match="unknown initializer 'magic'"):
        initializer("magic", 16)
    with pytest.raises(InputError, match="needs in_channels"):
        initializer("mlp-x", 16)
    without = type(f)(f.adjacency, f.weight, f.bias, f.contraction, f.activation)
    with pytest.raises(InputError, match="does not carry the features"):
        initializer("mlp-x", 16, 12)(without)
