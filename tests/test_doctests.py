"""The examples in the docstrings of the core are true."""

import doctest
import importlib
import pkgutil

import pytest

import ignn_solver

OUTSIDE = ("datasets", "cli", "baselines", "experiments", "report", "tasks", "__main__")
MODULES = [
    module.name
    for module in pkgutil.walk_packages(ignn_solver.__path__, "ignn_solver.")
    if module.name.split(".")[1] not in OUTSIDE
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_layer_and_the_classifier_have_examples():
    finder = doctest.DocTestFinder()
    for name in ("IGNN", "IGNNConv"):
        assert any(one.examples for one in finder.find(getattr(ignn_solver, name)))
