"""Models by name."""

import pytest

from ignn_solver import IGNN, InputError
from ignn_solver.baselines.gcn import GCN
from ignn_solver.models import MODELS, build, model_class, model_name
from ignn_solver.nn.base import NodeClassifier


@pytest.mark.parametrize("name", MODELS)
def test_every_name_makes_a_model_that_knows_its_name(name):
    model = build(name, in_channels=5, hidden_channels=8, num_classes=3)
    assert isinstance(model, NodeClassifier)
    assert type(model) is model_class(name)
    assert model_name(model) == name
    twin = build(name, **model.config)
    assert {n: t.shape for n, t in twin.state_dict().items()} == {
        n: t.shape for n, t in model.state_dict().items()
    }


def test_the_names_are_those_of_the_classes():
    assert model_class("ignn") is IGNN
    assert model_class("gcn") is GCN


def test_unknown_names_and_arguments_are_refused():
    with pytest.raises(InputError, match=r"unknown model 'gnc': choose one of .*gcn.*ignn"):
        build("gnc")
    with pytest.raises(InputError, match=r"the model 'gcn' cannot be made: .*'kappa'"):
        build("gcn", in_channels=5, hidden_channels=8, num_classes=3, kappa=0.5)
    with pytest.raises(InputError, match=r"the model 'ignn' cannot be made: .*'hidden_channels'"):
        build("ignn", in_channels=5, num_classes=3)


@pytest.mark.parametrize("name", MODELS)
def test_impossible_sizes_and_dropouts_are_refused_by_every_model(name):
    sizes = {"in_channels": 5, "hidden_channels": 8, "num_classes": 3}
    for wrong in ({"hidden_channels": 0}, {"num_classes": 2.5}, {"in_channels": "5"}):
        with pytest.raises(InputError, match=r"at least one feature, hidden channel and class"):
            build(name, **{**sizes, **wrong})
    with pytest.raises(InputError, match=r"dropout must be at least 0 and below 1, not 1.5"):
        build(name, **sizes, dropout=1.5)


def test_a_subclass_is_not_taken_for_its_parent():
    class Mine(GCN):
        pass

    with pytest.raises(
        InputError, match=r"Mine is not listed in ignn_solver.models.MODELS: add it"
    ):
        model_name(Mine(5, 8, 3))
