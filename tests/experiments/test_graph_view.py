import pytest
import torch

from graph_sets import rings_and_stars
from ignn_solver import IGNN, InputError, Picard, datasets, fit, load_model
from ignn_solver.benchmark import trained
from ignn_solver.datasets import loading
from ignn_solver.experiments import graph_view
from ignn_solver.experiments.request import Request
from ignn_solver.files import read_json
from ignn_solver.recipe import Recipe
from ignn_solver.report.graph_view import graph_view as checked
from ignn_solver.report.reading import read_folder


def test_the_view_of_a_graph_is_whole_and_the_report_takes_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe = Recipe({"hidden_channels": 8}, {"epochs": 3}, source="a test")
    monkeypatch.setattr(trained, "load_recipe", lambda *asked: recipe)
    request = Request(datasets=("blocks:150",), output=tmp_path / "results", progress=False)
    report = graph_view.run(request)
    assert load_model(tmp_path / "results/models/blocks-150-seed-0").hidden_channels == 8
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results"]
    content = read_json(report.files[0], "graph view")
    assert checked(read_folder(tmp_path / "results")) is not None
    assert (content["nodes"], content["all_nodes"]) == (150, 150)
    assert len(content["edges"]) == 4 * content["drawn_edges"]
    for frames in content["frames"].values():
        residuals = [frame["residual"] for frame in frames]
        assert residuals == sorted(residuals, reverse=True)
        assert residuals[-1] <= 1e-5
        for frame in frames:
            assert frame["share"] == pytest.approx(frame["certified"].count("1") / 150, abs=1e-4)
    assert len(content["frames"]["learned"]) < len(content["frames"]["picard"])
    assert report.rows == content["rows"]
    assert len(report.rows) == sum(map(len, content["frames"].values()))


def test_what_is_drawn_as_certified_has_the_class_of_the_equilibrium():
    data = datasets.load("blocks:150")
    model = IGNN(data.num_features, 8, data.num_classes)
    fit(model, data, epochs=20, progress=False)
    exact = model.predict(data, tol=1e-6).classes
    certified = early = 0
    f = model.equilibrium_map(data).detach()
    for frame in graph_view.solve_frames(f, model, Picard(), torch.arange(150)):
        prediction = model.predict(
            data, tol=0.0, max_evals=frame["evaluation"], on_failure="return"
        )
        proven = torch.tensor([letter == "1" for letter in frame["certified"]])
        assert torch.equal(prediction.classes[proven], exact[proven])
        certified += int(proven.sum())
        early += int((~proven).sum())
    assert certified > 0
    assert early > 0


def test_large_graphs_are_shown_in_part(monkeypatch):
    monkeypatch.setattr(graph_view, "NODES", 40)
    monkeypatch.setattr(graph_view, "EDGES", 30)
    data = datasets.load("blocks:150")
    model = IGNN(data.num_features, 4, data.num_classes).eval()
    content = graph_view.watched(model, data, {"picard": Picard()}, seed=0)
    assert (content["nodes"], content["all_nodes"], content["drawn_edges"]) == (40, 150, 30)
    assert all(len(frame["residuals"]) == 40 for frame in content["frames"]["picard"])


def test_edges_are_drawn_once_between_shown_nodes():
    edge_index = torch.tensor([[0, 2, 2, 3, 4, 4], [2, 0, 4, 4, 4, 2]])
    shown = graph_view.shown_edges(edge_index, torch.tensor([0, 2, 4]), 5, seed=0)
    assert shown.tolist() == [[0, 1], [1, 2]]


def test_packing():
    assert graph_view.pack(torch.tensor([0, 63, 26]), 1) == "A_a"
    assert graph_view.pack(torch.tensor([0, 64, 4095]), 2) == "AABA__"


def test_sets_of_graphs_cannot_be_drawn(tmp_path, monkeypatch):
    graphs = rings_and_stars(4)
    monkeypatch.setattr(loading, "load", lambda *asked: graphs)
    with pytest.raises(InputError, match="mutag is a set of graphs"):
        graph_view.run(Request(datasets=("mutag",), output=tmp_path))
