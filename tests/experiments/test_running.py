"""Experiments run on the data at hand, in full or as a quick look."""

from types import SimpleNamespace

from ignn_solver.experiments import EXPERIMENTS, running
from ignn_solver.experiments.request import Report, Request, experiment
from ignn_solver.experiments.running import at_hand, quickened, run_at_hand

HERE = ("digits", "chains:7", "blocks:arxiv")


def module(**content):
    """An experiment that reports what it was asked for."""
    asked = []
    one = SimpleNamespace(
        TITLE="a test",
        DATASETS=dict.fromkeys(("digits", "reddit", "chains:7"), ""),
        QUICK={"datasets": ("digits",), "epochs": 3},
        run=lambda request: asked.append(request) or Report("", [], []),
        asked=asked,
    )
    one.__dict__.update(content)
    return one


def test_what_is_generated_is_at_hand_and_a_missing_archive_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr("ignn_solver.datasets.fetch.user_cache", lambda: tmp_path)
    assert all(at_hand(name, tmp_path) for name in HERE)
    assert not at_hand("citeseer", tmp_path)
    (tmp_path / "citeseer.zip").touch()
    assert at_hand("citeseer", tmp_path)


def test_missing_datasets_are_left_out_with_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "at_hand", lambda name, data_dir: name in HERE)
    said = []
    one = module()
    assert run_at_hand(one, Request(), said.append) is not None
    assert one.asked[0].datasets == ("digits", "chains:7")
    assert said == ["left out, not on this machine (see `ignn-solver datasets`): reddit"]
    none = module(DATASETS={"reddit": "Reddit"})
    assert run_at_hand(none, Request(), said.append) is None
    assert none.asked == []
    # Asked for by name, it is the experiment that says what is wrong, or fetches it.
    run_at_hand(none, Request(datasets=("reddit",)), said.append)
    assert none.asked[0].datasets == ("reddit",)


def test_a_quick_look_changes_only_what_was_left_open(monkeypatch):
    request = Request(quick=True, seed=4)
    quick = quickened(request, {"epochs": 3, "datasets": ("digits",), "unknown": 1})
    assert (quick.epochs, quick.datasets, quick.seed) == (3, ("digits",), 4)
    asked = Request(quick=True, epochs=9, datasets=("acm",))
    assert quickened(asked, {"epochs": 3, "datasets": ("digits",)}) == asked
    one = module()
    run_at_hand(one, request)
    assert one.asked[0].datasets == ("digits",)
    assert one.asked[0].epochs == 3


def test_every_experiment_says_what_it_is_and_what_a_quick_look_takes():
    for name in EXPERIMENTS:
        found = experiment(name)
        assert len(found.TITLE) < 100
        assert set(found.QUICK["datasets"]) <= set(found.DATASETS)
