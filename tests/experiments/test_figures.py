"""Every figure: its rows on a small graph whose answers are known, and its pictures."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from statistics import stdev

import matplotlib.image
import pytest
import torch

from graph_sets import rings_and_stars
from ignn_solver import InputError, datasets, fit, load_solver
from ignn_solver.benchmark import trained
from ignn_solver.experiments import (
    figure_ablation,
    figure_chains,
    figure_convergence,
    figure_dynamics,
    figure_mixers,
    figure_overhead,
    figure_pareto,
    prepared,
)
from ignn_solver.experiments.figure import averaged, by, run_figure
from ignn_solver.experiments.request import Request
from ignn_solver.files import read_json
from ignn_solver.recipe import Recipe, load_recipe
from ignn_solver.tasks.node import read_result

RECIPE = Recipe({"hidden_channels": 8, "kappa": 0.8}, {"epochs": 3}, {"steps": 3}, "a test")
UPDATES = 4


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A block model under the name of every dataset, a small recipe, few updates."""

    def load(name, root=None, seed=0, **options):
        return datasets.load("blocks:200", seed=seed)

    monkeypatch.setattr(prepared, "_QUICK_UPDATES", UPDATES)
    monkeypatch.setattr(prepared, "load_nodes", load)
    monkeypatch.setattr(figure_dynamics, "load", load)
    for module in (prepared, figure_dynamics, trained):
        monkeypatch.setattr(module, "load_recipe", lambda name, which=None: RECIPE)


def asked(tmp_path, *names, **options):
    return Request(datasets=names, output=tmp_path, progress=False, quick=True, **options)


def drawn(report):
    """Whether all pictures are there, as PNG and PDF, and not blank."""
    pictures = [path for path in report.files if path.suffix == ".png"]
    assert len(pictures) == sum(path.suffix == ".pdf" for path in report.files) > 0
    return all(matplotlib.image.imread(path).std() > 0.01 for path in pictures)


def test_pareto_ends_at_the_equilibrium_with_every_class_proven(tmp_path):
    report = figure_pareto.run(asked(tmp_path, "citeseer", trials=1))
    groups = by(report.rows, "variant")
    assert [name for (name,) in groups] == [
        "ignn-published", "learned", "learned-paper", "learned-nn", "learned-aa",
    ]  # fmt: skip
    exact = {part[-1]["accuracy"] for part in groups.values()}
    assert len(exact) == 1
    for part in groups.values():
        # A start that costs evaluations has its first state after them.
        first = part[0]["evals"]
        assert first <= 3
        assert [row["evals"] for row in part] == [n for n in figure_pareto.STEPS if n >= first]
        assert [row["ms"] for row in part] == sorted(row["ms"] for row in part)
        assert part[-1]["residual"] < 1e-2 * part[0]["residual"]
        assert part[-1]["certified"] > 0.95
    stored = read_json(tmp_path / "figure-pareto.json", "results")
    assert stored["experiment"] == "figure-pareto"
    assert stored["quick"] is True
    assert stored["stand_ins"] == {}
    assert stored["rows"] == report.rows
    assert drawn(report)


def test_rows_of_several_seeds_become_their_mean():
    rows = [
        {"dataset": "acm", "evals": 1, "ms": 1.0, "accuracy": None},
        {"dataset": "acm", "evals": 2, "ms": 2.0, "accuracy": 0.5},
        {"dataset": "acm", "evals": 1, "ms": 3.0, "accuracy": 0.5},
    ]
    one = {"dataset": "acm", "evals": 1, "ms": 2.0, "accuracy": None, "seeds": 2}
    other = {"dataset": "acm", "evals": 2, "ms": 2.0, "accuracy": 0.5, "seeds": 1}
    assert averaged(rows, "dataset", "evals") == [one, other]


def test_large_and_small_have_a_picture_each(tmp_path):
    rows = [
        {"dataset": name, "variant": "learned", "ms": 1.0, "accuracy": 0.5, "certified": None}
        for name in ("citeseer", "com-amazon")
    ]
    titles = {name: name for name in ("citeseer", "com-amazon")}
    files = figure_pareto.draw(rows, titles, tmp_path / "figure-pareto")
    names = {path.stem for path in files}
    assert names == {"figure-pareto-small", "figure-pareto-large"}


def test_a_stand_in_is_named_as_such(tmp_path):
    def measure(dataset, request):
        return [{"dataset": dataset, "value": request.seed}]

    def draw(rows, titles, path):
        assert titles == {"blocks:arxiv": "arxiv (stand-in)"}
        return [path.with_suffix(".png")]

    request = asked(tmp_path, "blocks:arxiv")
    names = {"blocks:arxiv": "arxiv", "digits": "Digits"}
    report = run_figure(request, "figure-test", names, measure, draw, {"a": 1}, lambda one: 2)
    assert [row["value"] for row in report.rows] == [0, 1]
    stored = read_json(tmp_path / "figure-test.json", "results")
    assert stored["stand_ins"] == {
        "blocks:arxiv": "a generated graph of arxiv's size, not arxiv itself"
    }
    assert stored["settings"] == {"a": 1}
    assert "arxiv (stand-in): a generated graph" in report.text


def test_overhead_counts_what_was_kept(tmp_path):
    report = figure_overhead.run(asked(tmp_path, "citeseer"))
    (folder,) = (tmp_path / "models").iterdir()
    assert {row["preset"] for row in report.rows} == {"learned", "learned-paper"}
    for row in report.rows:
        solver = load_solver(folder / "solvers" / row["preset"])
        assert row["solver_parameters"] == solver.num_parameters
        assert row["solver_seconds"] == solver.details["seconds"]
        total = row["solver_parameters"] + row["model_parameters"]
        assert row["share_parameters"] == pytest.approx(row["solver_parameters"] / total)
    assert row["model_seconds"] == read_result(folder).seconds
    assert drawn(report)


def test_convergence_of_nodes_and_of_graphs(tmp_path, monkeypatch):
    graphs = rings_and_stars(40, features=2)
    monkeypatch.setattr(figure_convergence, "load", lambda name, root, **options: graphs)
    request = asked(tmp_path, "citeseer", "mutag", epochs=2)
    report = figure_convergence.run(request)
    groups = by(report.rows, "dataset", "solver")
    assert len(groups) == 2 * 4
    for dataset in ("citeseer", "mutag"):
        published, plain = groups[dataset, "ignn-published"], groups[dataset, "picard"]
        # Plain iteration starts at f(0), where the published loop is after one evaluation.
        for one, other in zip(published[1:8], plain, strict=False):
            assert one["residual"] == pytest.approx(other["residual"], rel=1e-3)
    for part in groups.values():
        first = part[0]["evaluation"]
        assert first <= 3
        assert [row["evaluation"] for row in part] == list(range(first, first + len(part)))
        # Nothing stops a graph sooner but a residual of exactly 0; what is shown is a mean at the end.
        assert part[-1]["evaluation"] == 40 or part[-1]["residual"] < 1e-6
    learned, plain = (
        next(row for row in groups["citeseer", name] if row["evaluation"] == 10)
        for name in ("learned", "picard")
    )
    assert learned["residual"] < plain["residual"]
    assert {path.stem for path in report.files[1:]} == {
        "figure-convergence-nodes", "figure-convergence-graphs",
    }  # fmt: skip
    assert drawn(report)


def test_mixers_in_warm_up_and_inference(tmp_path):
    report = figure_mixers.run(asked(tmp_path, "citeseer"))
    groups = by(report.rows, "mixer", "phase")
    for mixer in ("gn", "nn", "gru", "tcn"):
        assert [row["step"] for row in groups[mixer, "warm-up"]] == list(range(1, UPDATES + 1))
        assert len(groups[mixer, "inference"]) == figure_mixers.EVALUATIONS
    # The guess of the untrained initializer is the same for all, and the untrained mixers step plainly.
    first = [groups[mixer, "warm-up"][0]["value"] for mixer in ("gn", "nn", "gru", "tcn")]
    assert max(first) - min(first) < 0.1 * min(first)
    assert drawn(report)


def test_ablation_has_every_setting_and_plain_iteration(tmp_path):
    report = figure_ablation.run(asked(tmp_path, "citeseer"))
    groups = by(report.rows, "setting")
    assert [name for (name,) in groups] == ["without solver", *figure_ablation.SETTINGS]
    plain = [row["residual"] for row in groups["without solver",]]
    assert all(later <= 0.81 * earlier for earlier, later in pairwise(plain[:8]))
    # Without an initializer a solver starts where plain iteration does.
    assert groups["without initializer",][0]["residual"] == pytest.approx(plain[0], rel=1e-4)
    assert drawn(report)


def test_dynamics_trains_every_variant_for_every_epoch(tmp_path):
    report = figure_dynamics.run(asked(tmp_path, "citeseer", epochs=8))
    groups = by(report.rows, "variant")
    assert [name for (name,) in groups] == list(figure_dynamics.VARIANTS)
    for part in groups.values():
        assert [row["epoch"] for row in part] == list(range(1, 9))
        assert all(row["train_ms"] > 0 and row["inference_ms"] > 0 for row in part)
    # The first epochs of the alternating solver are its warm-up, in plain iteration.
    cold, learned = groups["IGNN",], groups["IGNN-Solver",]
    assert [row["forward_evals"] for row in cold[:3]] == [r["forward_evals"] for r in learned[:3]]
    assert learned[-1]["forward_evals"] < cold[-1]["forward_evals"]
    assert drawn(report)


def test_chains_are_learnt_by_who_sees_their_length(tmp_path):
    report = figure_chains.run(asked(tmp_path, "chains:2", trials=1, epochs=30))
    assert [row["model"] for row in report.rows] == list(figure_chains.MODELS)
    for row in report.rows:
        assert row["length"] == 2
        assert row["seeds"] == 1
        assert row["accuracy"] == 1.0
        assert row["std"] == 0.0
    assert drawn(report)


def test_chains_are_summarised_over_seeds():
    rows = [
        {"dataset": "chains:4", "model": "gcn", "length": 4, "accuracy": value}
        for value in (0.5, 0.75, 1.0)
    ]
    (row,) = figure_chains.summarised(rows)
    assert row["accuracy"] == 0.75
    assert row["std"] == stdev([0.5, 0.75, 1.0])


def test_what_is_finished_is_not_run_again_and_parts_add_up(tmp_path, monkeypatch):
    first = figure_overhead.run(asked(tmp_path, "citeseer"))
    both = figure_overhead.run(asked(tmp_path, "digits"))
    assert {row["dataset"] for row in both.rows} == {"citeseer", "digits"}

    def never(*arguments, **options):
        raise AssertionError("prepared again")

    monkeypatch.setattr(figure_overhead, "prepare", never)
    again = figure_overhead.run(asked(tmp_path, "citeseer"))
    assert again.rows == both.rows
    assert again.rows[: len(first.rows)] == first.rows
    with pytest.raises(AssertionError, match="prepared again"):
        figure_overhead.run(asked(tmp_path, "citeseer", resume=False))


def test_a_part_of_the_models_cannot_be_asked_for(tmp_path):
    with pytest.raises(InputError, match="figure-mixers always shows the same models"):
        figure_mixers.run(asked(tmp_path, "citeseer", models=("gn",)))


def test_models_and_solvers_are_made_once(tmp_path, monkeypatch):
    request = asked(tmp_path, "citeseer")
    first = prepared.prepare("citeseer", request)
    solver = first.solver("learned-nn", window=3)

    def never(*arguments, **options):
        raise AssertionError("made again")

    monkeypatch.setattr(trained, "fit", never)
    monkeypatch.setattr(prepared, "fit_solver", never)
    again = prepared.prepare("citeseer", request)
    assert again.training_seconds == first.training_seconds
    for one, other in zip(first.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(one, other)
    kept = again.solver("learned-nn", window=3)
    assert kept.details == solver.details
    assert kept.mixer.window == 3
    with pytest.raises(AssertionError, match="made again"):
        again.solver("learned-nn", window=2)
    with pytest.raises(AssertionError, match="made again"):
        prepared.prepare("citeseer", replace(request, seed=1))


def test_the_published_solver_has_the_papers_settings_where_it_gives_any(monkeypatch):
    monkeypatch.setattr(prepared, "load_recipe", load_recipe)
    citeseer = prepared.paper_settings("citeseer", quick=False)
    assert (citeseer["steps"], citeseer["lambda_reconstruction"]) == (10, 0.1)
    assert prepared.paper_settings("digits", quick=False) == {}
    assert prepared.paper_settings("digits", quick=True) == {"iterations": UPDATES}


def test_a_training_that_was_stopped_goes_on(tmp_path, monkeypatch):
    first = prepared.prepare("citeseer", asked(tmp_path / "whole", "citeseer"))
    request = asked(tmp_path / "stopped", "citeseer")

    def stop(epoch, entry):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(trained, "fit", partial(fit, on_epoch=stop))
        with pytest.raises(KeyboardInterrupt):
            prepared.prepare("citeseer", request)
    again = prepared.prepare("citeseer", request)
    assert read_result(again.folder).epochs == RECIPE.training["epochs"]
    for one, other in zip(first.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(one, other)
