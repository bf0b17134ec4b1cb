"""``--tensorboard``: the scalars of a run, read back from the event files."""

import json
import shutil

from ignn_solver.tasks.node import FitResult
from ignn_solver.tensors import load_tensors
from scalar_events import read_scalars


def test_training(cli, tmp_path):
    options = ["--hidden", 4, "--epochs", 3, "--run", "run", "-q"]
    shown = cli("train", "chains:4", *options, "--tensorboard", "events")
    assert shown.status == 0, shown.err
    found = read_scalars(tmp_path / "events")
    _, kept = load_tensors(tmp_path / "run" / "resume.safetensors", "checkpoint")
    history = FitResult(**kept["result"]).history
    names = {
        "loss/training": "loss",
        "loss/validation": "val_loss",
        "accuracy/validation": "val_accuracy",
        "evaluations/forward": "forward_evals",
        "evaluations/backward": "backward_evals",
        "seconds/epoch": "seconds",
    }
    assert found.keys() == names.keys()
    for scalar, column in names.items():
        assert [step for step, _ in found[scalar]] == [0, 1, 2]
        for (_, value), entry in zip(found[scalar], history, strict=True):
            assert abs(value - entry[column]) <= 1e-6 * max(1, abs(entry[column]))


def test_fitting_a_solver(cli, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    for preset in ("learned", "learned-paper"):
        options = ["--preset", preset, "--steps", 3, "--json", "fit.json", "-q"]
        shown = cli("fit-solver", "run", *options, "--tensorboard", preset)
        assert shown.status == 0, shown.err
        found = read_scalars(tmp_path / preset)
        last = json.loads((tmp_path / "fit.json").read_text())["rows"][-1]
        assert found["seconds/fit"][0][1] > 0
        assert found[f"residual/{preset}"][-1][0] == last["evals"]
        assert found["residual/picard"][-1][0] == last["picard_evals"]
        assert found["residual/picard"][-1][1] <= last["tol"]
        assert ("fit/loss" in found) == (preset == "learned-paper")
    # 120 updates of the mixer after ten times as many of the initializer.
    assert [step for step, _ in found["fit/last_error"]] == list(range(1320))


def test_benchmarking(cli, tmp_path):
    train = ["train", "chains:4", "--hidden", 4, "--epochs", 3, "--run", "run", "-q"]
    assert cli(*train).status == 0
    options = ["--run", "run", "--rounds", 2, "--solver", "picard", "--json", "bench.json"]
    shown = cli("bench", "chains:4", *options, "--tensorboard", "events")
    assert shown.status == 0, shown.err
    assert "round 2 of 2" in shown.err
    found = read_scalars(tmp_path / "events")
    row = json.loads((tmp_path / "bench.json").read_text())["rows"][0]
    times = next(values for name, values in found.items() if name.endswith("ms/picard"))
    assert [step for step, _ in times] == [1, 2]
    assert min(ms for _, ms in times) <= row["ms"] <= max(ms for _, ms in times) + 1e-3
    evals = next(values for name, values in found.items() if name.endswith("evals/picard"))
    assert evals == [(0, row["evals"])]
