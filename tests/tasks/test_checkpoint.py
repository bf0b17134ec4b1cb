"""Runs on disk: they come back as they went, execute nothing, and survive a failed write."""

import json
import pickle
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from ignn_solver import IGNN, Anderson, InputError, datasets, fit, load_model, save_model
from ignn_solver.baselines.gcn import GCN
from ignn_solver.nn.base import NodeClassifier
from ignn_solver.tasks.checkpoint import (
    CONFIG,
    RESUME,
    WEIGHTS,
    pack_optimizer,
    read_config,
    save_config,
    start_run,
    unpack_optimizer,
)
from ignn_solver.tensors import load_tensors, save_tensors


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file can grow beyond ``size`` bytes: writing more fails half-way, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path):
    save_model(tmp_path / "run", IGNN(4, 6, 3, kappa=0.7), note="a run")
    return tmp_path / "run"


@pytest.mark.parametrize("kind", [IGNN, GCN])
def test_a_model_comes_back_as_it_went(tmp_path, kind):
    model = kind(4, 6, 3, dropout=0.25)
    save_model(str(tmp_path / "a" / "run"), model, seed=7)
    twin = load_model(str(tmp_path / "a" / "run"))
    assert type(twin) is kind
    assert twin.config == model.config
    assert not twin.training
    for name, tensor in model.state_dict().items():
        assert torch.equal(twin.state_dict()[name], tensor)
    config = read_config(tmp_path / "a" / "run")
    assert config["seed"] == 7
    assert sorted(contents(tmp_path / "a" / "run")) == [CONFIG, WEIGHTS]


class Trap:
    """What it would do on being unpickled is to make a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_pickle_is_refused_and_not_executed(folder, tmp_path):
    sprung = tmp_path / "sprung"
    pickle.loads(pickle.dumps(Trap(sprung)))
    assert sprung.exists()
    sprung.unlink()
    for damaged in (WEIGHTS, CONFIG):
        (folder / damaged).write_bytes(pickle.dumps(Trap(sprung)))
        with pytest.raises(InputError, match=rf"{damaged} is .*: restore|restore or delete it"):
            load_model(folder)
    torch.save({"trap": Trap(sprung)}, folder / WEIGHTS)
    save_config(folder, IGNN(4, 6, 3))
    with pytest.raises(InputError, match=r"model.safetensors is truncated or corrupt"):
        load_model(folder)
    assert not sprung.exists()


def test_every_truncation_is_one_sentence(folder):
    whole = (folder / WEIGHTS).read_bytes()
    for length in (0, 1, 8, 100, len(whole) // 2, len(whole) - 1):
        (folder / WEIGHTS).write_bytes(whole[:length])
        with pytest.raises(InputError) as refused:
            load_model(folder)
        sentence = str(refused.value)
        assert sentence.startswith(f"checkpoint {folder / WEIGHTS} is truncated or corrupt (")
        assert sentence.endswith("restore it or train again")
        assert "\n" not in sentence
    (folder / WEIGHTS).unlink()
    with pytest.raises(InputError, match=r"no checkpoint at .*: train first, or name another"):
        load_model(folder)


def test_weights_of_another_shape_or_model_are_refused(folder, tmp_path):
    tensors, _ = load_tensors(folder / WEIGHTS, "file")
    changed = {**tensors, "head.weight": torch.zeros(2, 6)}
    save_tensors(folder / WEIGHTS, changed)
    with pytest.raises(
        InputError, match=r"head.weight has shape \(2, 6\) instead of \(3, 6\): .*train again"
    ):
        load_model(folder)
    missing = {name: tensor for name, tensor in tensors.items() if name != "head.bias"}
    save_tensors(folder / WEIGHTS, missing)
    with pytest.raises(InputError, match=r"it lacks head.bias: name the folder"):
        load_model(folder)
    save_tensors(folder / WEIGHTS, {**tensors, "tail.bias": torch.zeros(1)})
    with pytest.raises(InputError, match=r"it also has tail.bias: name the folder"):
        load_model(folder)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": 2}, r"config.json is not a run configuration of format 1: name the folder"),
        ({"model": None}, "is not a run configuration"),
        ({"config": [1, 2]}, "is not a run configuration"),
        ({"model": "gnn"}, "unknown model 'gnn': choose one of"),
        ({"config": {}}, r"the model 'ignn' cannot be made: .*in_channels"),
        ({"config": {"colour": 1}}, r"the model 'ignn' cannot be made"),
        (
            {"config": {"in_channels": 4, "hidden_channels": 6, "num_classes": 3, "kappa": 1.5}},
            "kappa",
        ),
    ],
)
def test_a_configuration_that_is_not_one_is_refused(folder, change, sentence):
    content = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps({**content, **change}))
    with pytest.raises(InputError, match=sentence):
        load_model(folder)


def test_a_folder_without_a_run_is_said(tmp_path):
    with pytest.raises(
        InputError, match=r"is not the folder of a run: train first, or name another"
    ):
        load_model(tmp_path)
    (tmp_path / CONFIG).write_text("[]")
    with pytest.raises(InputError, match="is not a run configuration"):
        load_model(tmp_path)


def test_models_that_a_file_cannot_rebuild_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"cannot keep solver=Anderson.*: make it without"):
        save_model(tmp_path, IGNN(4, 6, 3, solver=Anderson()))

    class Mine(NodeClassifier):
        pass

    with pytest.raises(InputError, match="Mine is not listed"):
        save_model(tmp_path, Mine(4, 6, 3))
    assert not contents(tmp_path)


@pytest.mark.parametrize("place", ["file/run", "/proc/run"])
def test_a_folder_that_cannot_be_written_is_said_before_training(tmp_path, place):
    (tmp_path / "file").write_text("in the way")
    data = datasets.load("blocks", nodes=100, average_degree=8.0)
    model = IGNN(data.num_features, 4, data.num_classes)
    epochs = []
    with pytest.raises(
        InputError, match=r"cannot write .*config.json: .*; choose another output directory"
    ):
        fit(model, data, run=tmp_path / place, on_epoch=lambda *args: epochs.append(args))
    assert not epochs


def test_a_full_disk_leaves_the_last_good_checkpoint(tmp_path):
    """The disk fills up after the first weights are kept; the training stops with a sentence."""
    data = datasets.load("blocks", nodes=100, average_degree=8.0)
    model = IGNN(data.num_features, 64, data.num_classes)
    kept = {}

    def fill(epoch, entry):
        if not kept:
            kept.update(contents(tmp_path))
            limit.__enter__()

    limit = full_disk(20_000)
    try:
        with pytest.raises(InputError, match=r"cannot write .*safetensors: .*(large|space)"):
            fit(model, data, epochs=20, lr=0.05, run=tmp_path, on_epoch=fill)
    finally:
        limit.__exit__(None, None, None)
    assert contents(tmp_path) == kept
    assert sorted(kept) == [CONFIG, WEIGHTS]
    assert isinstance(load_model(tmp_path), IGNN)


def test_a_run_that_cannot_start_leaves_the_earlier_one(folder):
    before = contents(folder)
    with full_disk(10), pytest.raises(InputError, match=r"cannot write .*config.json"):
        start_run(folder, IGNN(5, 6, 3))
    assert contents(folder) == before
    start_run(folder, IGNN(5, 6, 3), note="new")
    assert sorted(contents(folder)) == [CONFIG]
    assert read_config(folder)["note"] == "new"
    assert not (folder / RESUME).exists()


def test_an_optimizer_comes_back_as_it_went(tmp_path):
    def step(model, optimizer):
        optimizer.zero_grad()
        model.weight.sum().mul(3.0).add(model.bias.square().sum()).backward()
        optimizer.step()

    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    step(model, optimizer)
    twin = torch.nn.Linear(3, 2)
    twin.load_state_dict(model.state_dict())
    other = torch.optim.Adam(twin.parameters(), lr=0.1)
    save_tensors(tmp_path / "file", {"model.weight": torch.zeros(1), **pack_optimizer(optimizer)})
    unpack_optimizer(other, load_tensors(tmp_path / "file", "file")[0])
    for _ in range(3):
        step(model, optimizer)
        step(twin, other)
    assert torch.equal(model.weight, twin.weight)
    assert torch.equal(model.bias, twin.bias)
