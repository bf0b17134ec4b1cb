"""A training that was stopped at any moment ends with exactly the weights it would have had."""

import shutil
from dataclasses import asdict

import pytest
import torch

from ignn_solver import IGNN, InputError, datasets, fit, load_model
from ignn_solver.baselines.gcn import GCN
from ignn_solver.tasks import node
from ignn_solver.tasks.checkpoint import CONFIG, RESUME, WEIGHTS
from ignn_solver.tensors import load_tensors, save_tensors

EPOCHS = 18
SETTINGS = {"epochs": EPOCHS, "lr": 0.05, "seed": 5, "patience": 100}
KINDS = {
    "implicit": (IGNN, {}),
    "implicit-cold": (IGNN, {"warm_start": False}),
    "alternating": (IGNN, {"solver": "alternating"}),
    "explicit": (GCN, {}),
}


@pytest.fixture(scope="module")
def data():
    return datasets.load("blocks", nodes=100, average_degree=8.0)


def new(data, kind="implicit", hidden=8):
    torch.manual_seed(0)
    return KINDS[kind][0](data.num_features, hidden, data.num_classes)


def stop_after(last):
    def stop(epoch, entry):
        if epoch == last:
            raise KeyboardInterrupt

    return stop


def without_times(result):
    kept = asdict(result)
    del kept["seconds"]
    for entry in kept["history"]:
        del entry["seconds"], entry["train_seconds"]
    return kept


def assert_same(model, result, expected):
    state, reached = expected
    found = model.state_dict()
    for name, tensor in state.items():
        assert torch.equal(found[name], tensor), name
    assert without_times(result) == without_times(reached)


@pytest.fixture(scope="module")
def uninterrupted(data):
    found = {}
    for kind, (_, options) in KINDS.items():
        model = new(data, kind)
        result = fit(model, data, **SETTINGS, **options)
        assert result.epochs == EPOCHS
        found[kind] = model.state_dict(), result
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_after_ctrl_c_between_epochs(data, tmp_path, kind, uninterrupted):
    options = {**SETTINGS, **KINDS[kind][1], "run": tmp_path, "resume": True}
    for last in (0, 9, 16):
        with pytest.raises(KeyboardInterrupt):
            fit(new(data, kind), data, on_epoch=stop_after(last), **options)
        assert load_tensors(tmp_path / RESUME, "file")[1]["result"]["epochs"] == last + 1
    model = new(data, kind)
    result = fit(model, data, **options)
    assert_same(model, result, uninterrupted[kind])
    stored = load_model(tmp_path).state_dict()
    assert all(torch.equal(stored[name], tensor) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("passes", [1, 2, 30])
def test_after_ctrl_c_within_an_epoch(data, tmp_path, passes, uninterrupted, monkeypatch):
    """Every epoch calls the model twice: to train, and to validate after the weights moved."""
    monkeypatch.setattr(node, "_SECONDS_BETWEEN_SAVES", 0.0)
    model, calls = new(data), []

    def stop(module, args, output):
        calls.append(module)
        if len(calls) == passes:
            raise KeyboardInterrupt

    model.conv.register_forward_hook(stop)
    with pytest.raises(KeyboardInterrupt):
        fit(model, data, run=tmp_path, **SETTINGS)
    model = new(data)
    result = fit(model, data, run=tmp_path, resume=True, **SETTINGS)
    assert_same(model, result, uninterrupted["implicit"])


@pytest.mark.parametrize("kind", ["alternating", "explicit"])
def test_after_a_kill_that_leaves_what_is_on_disk(data, tmp_path, kind, uninterrupted, monkeypatch):
    monkeypatch.setattr(node, "_SECONDS_BETWEEN_SAVES", 0.0)
    options = {**SETTINGS, **KINDS[kind][1]}

    def keep(epoch, entry):
        if epoch in (3, 12):
            shutil.copytree(tmp_path / "run", tmp_path / f"killed{epoch}")

    fit(new(data, kind), data, run=tmp_path / "run", on_epoch=keep, **options)
    for epoch in (3, 12):
        model = new(data, kind)
        result = fit(model, data, run=tmp_path / f"killed{epoch}", resume=True, **options)
        assert_same(model, result, uninterrupted[kind])


def test_a_finished_training_is_not_repeated_but_can_be_prolonged(data, tmp_path, uninterrupted):
    fit(new(data), data, run=tmp_path, **{**SETTINGS, "epochs": 7})
    model = new(data)
    again = fit(model, data, run=tmp_path, resume=True, **{**SETTINGS, "epochs": 7})
    assert again.epochs == len(again.history) == 7
    model = new(data)
    result = fit(model, data, run=tmp_path, resume=True, **SETTINGS)
    assert_same(model, result, uninterrupted["implicit"])


def test_nothing_to_resume_from_is_a_fresh_start(data, tmp_path, uninterrupted):
    model = new(data)
    result = fit(model, data, run=tmp_path / "new", resume=True, **SETTINGS)
    assert_same(model, result, uninterrupted["implicit"])


def test_a_new_training_never_mixes_with_what_lay_in_its_folder(data, tmp_path):
    fit(new(data, hidden=4), data, run=tmp_path, epochs=2)
    (tmp_path / "solver.safetensors").write_bytes(b"of the earlier model")

    def stop(module, args):
        raise KeyboardInterrupt

    model = new(data)
    model.conv.register_forward_pre_hook(stop)
    with pytest.raises(KeyboardInterrupt):
        fit(model, data, run=tmp_path, epochs=2)
    assert [path.name for path in tmp_path.iterdir()] == [CONFIG]
    resumed = fit(new(data), data, run=tmp_path, epochs=3, resume=True)
    assert resumed.epochs == 3


def test_a_checkpoint_of_another_model_is_refused_and_untouched(data, tmp_path):
    fit(new(data, hidden=4), data, run=tmp_path, epochs=2)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(
        InputError, match=r"resume.safetensors does not fit this model, .* has shape .* train again"
    ):
        fit(new(data, hidden=5), data, run=tmp_path, epochs=4, resume=True)
    with pytest.raises(InputError, match=r"does not fit this model, it lacks convs"):
        fit(new(data, "explicit"), data, run=tmp_path, epochs=4, resume=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("part", ["random", "best.head.bias", "model.head.bias", "result"])
def test_a_checkpoint_that_lacks_something_is_refused(data, tmp_path, part):
    fit(new(data), data, run=tmp_path, epochs=2)
    tensors, kept = load_tensors(tmp_path / RESUME, "file")
    tensors.pop(part, None)
    kept.pop(part, None)
    save_tensors(tmp_path / RESUME, tensors, kept)
    with pytest.raises(InputError, match=r"resume.safetensors (lacks|does not fit).*train a"):
        fit(new(data), data, run=tmp_path, epochs=4, resume=True)
    # The best weights are a file of their own.
    load_model(tmp_path)


def test_a_truncated_checkpoint_is_refused(data, tmp_path):
    fit(new(data), data, run=tmp_path, epochs=2)
    whole = (tmp_path / RESUME).read_bytes()
    for length in (0, 7, len(whole) // 2, len(whole) - 1):
        (tmp_path / RESUME).write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"resume.safetensors is truncated or corrupt"):
            fit(new(data), data, run=tmp_path, epochs=4, resume=True)
    assert (tmp_path / WEIGHTS).stat().st_size > 0


def test_what_was_reached_can_be_read_from_the_folder(data, tmp_path):
    result = fit(new(data), data, epochs=3, run=tmp_path)
    assert node.read_result(tmp_path) == result
    tensors, _ = load_tensors(tmp_path / RESUME, "file")
    save_tensors(tmp_path / RESUME, tensors, {})
    with pytest.raises(InputError, match="holds no result of a training"):
        node.read_result(tmp_path)
