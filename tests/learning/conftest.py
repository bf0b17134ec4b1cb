"""A model and a graph on which solvers are learnt quickly."""

import pytest
import torch

import ignn_solver as ig
from ignn_solver.datasets import load
from ignn_solver.learning.fit import make_mixed


@pytest.fixture(scope="session")
def graph():
    return load("blocks", nodes=400, average_degree=6, features=12, classes=3, seed=1)


@pytest.fixture(scope="session")
def model(graph):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return ig.IGNN(graph.num_features, 16, graph.num_classes, kappa=0.9).eval()


@pytest.fixture(scope="session")
def f(model, graph):
    with torch.no_grad():
        return model.equilibrium_map(graph).detach()


@pytest.fixture(scope="session")
def solution(f):
    return ig.solve(f, tol=1e-6).value


@pytest.fixture
def untrained():
    return make_mixed({"width": 16, "in_channels": 12, "mixer": "nn", "initializer": "mlp"})
