"""``ignn-solver train``: what it writes, what it refuses, and how it is stopped and resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from ignn_solver import IGNN, load_model
from ignn_solver.tasks.checkpoint import CONFIG, RESUME, WEIGHTS


def test_a_run_is_kept_and_its_record_written(cli, tmp_path):
    shown = cli("train", "chains:4", "--hidden", 8, "--epochs", 40, "--json", "out.json", "-q")
    assert shown.status == 0, shown.err
    assert not shown.err
    record = json.loads((tmp_path / "out.json").read_text())
    assert record["test_accuracy"] > 0.9
    assert record["val_accuracy"] > 0.9
    assert record["epochs"] == 40
    assert 0 <= record["best_epoch"] < 40
    assert 0 < record["seconds"] < record["wall_seconds"]
    assert (record["dataset"], record["model"], record["seed"]) == ("chains:4", "ignn", 0)
    assert record["recipe"] == "tuned recipe for chains"
    folder = tmp_path / "runs" / "chains-4-ignn-0"
    assert record["run"] == str(folder.relative_to(tmp_path))
    assert sorted(path.name for path in folder.iterdir()) == [CONFIG, WEIGHTS, RESUME]
    model = load_model(folder)
    assert isinstance(model, IGNN)
    assert (model.hidden_channels, model.config["kappa"]) == (8, 0.95)
    assert model.num_parameters == record["parameters"]
    for part in ("chains:4", f"{100 * record['test_accuracy']:.2f}%", str(folder.name)):
        assert part in shown.out


def test_baselines_and_options(cli, tmp_path):
    (tmp_path / "mine.toml").write_text(
        '[model]\nhidden_channels = 4\nkappa = 0.5\n[training]\nlr = 0.1\nloss = "bce"\nepochs = 9\n'
    )
    options = ["--recipe", "mine.toml", "--seed", 3, "--lr", 0.02, "-q"]
    shown = cli("train", "chains:4", "--model", "gcn", *options)
    assert shown.status == 0, shown.err
    config = json.loads((tmp_path / "runs/chains-4-gcn-3/config.json").read_text())
    assert config["training"] == {"lr": 0.02, "loss": "bce", "epochs": 9}
    assert config["config"]["hidden_channels"] == 4
    assert (config["seed"], config["recipe"]) == (3, "mine.toml")
    shown = cli("train", "chains:4", "--epochs", 8, "--solver", "alternating", *options)
    assert shown.status == 0, shown.err
    (config,) = (
        json.loads(path.read_text()) for path in tmp_path.glob("runs/chains-4-ignn-*/config.json")
    )
    assert config["training"]["solver"] == "alternating"


def write_graph(folder: Path) -> list[str]:
    """Two cliques joined by an edge, with ids that are words, as files."""
    names = [f"node-{number}" for number in range(12)]
    pairs = [(a, b) for a in range(12) for b in range(a) if a // 6 == b // 6] + [(0, 6)]
    edges = "\n".join(f"{names[a]},{names[b]}" for a, b in pairs)
    (folder / "citeseer.csv").write_text("source,target\n" + edges + "\n")
    classes = ["left"] * 6 + ["right"] * 6
    labels = "\n".join(f"{name},{label}" for name, label in zip(names, classes, strict=True))
    (folder / "labels.csv").write_text("id,label\n" + labels + "\n")
    parts = ["train", "train", "val", "test", "test", "test"] * 2
    split = "\n".join(f"{name},{part}" for name, part in zip(names, parts, strict=True))
    (folder / "split.csv").write_text("id,split\n" + split + "\n")
    return ["--edges", "citeseer.csv", "--labels", "labels.csv", "--split", "split.csv"]


def test_a_graph_of_ones_own_takes_no_recipe_from_the_name_of_its_file(cli, tmp_path):
    graph = write_graph(tmp_path)
    shown = cli("train", *graph, "--epochs", 20, "--hidden", 4, "--json", "out.json", "-q")
    assert shown.status == 0, shown.err
    record = json.loads((tmp_path / "out.json").read_text())
    assert record["recipe"] == "defaults"
    assert record["dataset"] == "citeseer"
    assert cli("train", *graph, "--recipe", "paper").is_refusal(
        "no paper recipe for your own graph"
    )


REFUSED = [
    ([], ["name a dataset, or give your own graph with --edges"]),
    (["digits", "--edges", "e.csv"], ["but not both"]),
    (["digits", "--labels", "e.csv"], ["--labels go with --edges"]),
    (["nowhere"], ["no dataset 'nowhere': choose among"]),
    (["chains:1"], ["length of at least 2"]),
    (["chains:4", "--kappa", 1.0], ["kappa", "between 0 and 1", "1.0"]),
    (["chains:4", "--kappa", 0.0], ["kappa", "between 0 and 1"]),
    (["chains:4", "--hidden", 0], ["at least one feature, hidden channel and class"]),
    (["chains:4", "--hidden", -3, "--model", "gcn"], ["at least one feature, hidden channel"]),
    (["chains:4", "--recipe", "drop.toml"], ["dropout must be at least 0 and below 1, not 1.5"]),
    (["chains:4", "--epochs", 0], ["epochs must be"]),
    (["chains:4", "--lr", -1], ["lr must be"]),
    (["chains:4", "--lr", 1e38], ["lr must be a number from 0 to 1e+06, not 1e+38"]),
    (["chains:4", "--model", "gnc"], ["unknown model 'gnc': choose one of"]),
    (["chains:4", "--model", "gcn", "--kappa", 0.5], ["'gcn' cannot be made", "kappa"]),
    (["chains:4", "--model", "gcn", "--solver", "alternating"], ["GCN has no equilibrium"]),
    (["chains:4", "--solver", "picard"], ["unknown solver 'picard' for training"]),
    (["chains:4", "--recipe", "no.toml"], ["no recipe 'no.toml'"]),
    (["chains:4", "--recipe", "odd.toml"], ["odd.toml sets 'speed' in [training]: known are"]),
    (["chains:4", "--run", "file/run"], ["cannot write file/run/config.json", "another output"]),
    (["chains:4", "--run", "/proc/run"], ["cannot write /proc/run/config.json"]),
    (["--edges", "e.csv"], ["no labels", "--labels"]),
    (["--edges", "none.csv"], ["no file none.csv"]),
    (["--edges", "empty.csv"], ["empty.csv is empty; each row should be source,target"]),
    (["--edges", "negative.csv", "--labels", "l.csv"], ["negative.csv, line 2", "negative"]),
    (["--edges", "e.npz", "--labels", "l.csv", "--features", "x.npy"], ["e.npz, edge", "9"]),
    (["--edges", "e.csv", "--labels", "l.csv", "--features", "nan.npy"], ["nan.npy"]),
    (
        ["--edges", "e.csv", "--labels", "l.csv", "--split", "half.csv"],
        ["no node is in the val split"],
    ),
    (["--edges", "e.csv", "--labels", "part.csv", "--split", "s.csv"], ["s.csv", "no label"]),
]


@pytest.mark.parametrize(("arguments", "parts"), REFUSED, ids=lambda value: str(value)[:40])
def test_wrong_input_is_one_sentence_and_writes_nothing(cli, tmp_path, arguments, parts):
    (tmp_path / "file").touch()
    (tmp_path / "odd.toml").write_text("[training]\nspeed = 9\n")
    (tmp_path / "drop.toml").write_text("[model]\nhidden_channels = 4\ndropout = 1.5\n")
    (tmp_path / "e.csv").write_text("0,1\n1,2\n2,3\n3,4\n4,5\n5,0\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "negative.csv").write_text("0,1,1.0\n1,2,-1.0\n")
    (tmp_path / "l.csv").write_text("0,a\n1,b\n2,a\n3,b\n4,a\n5,b\n")
    (tmp_path / "part.csv").write_text("0,a\n1,b\n2,a\n")
    (tmp_path / "s.csv").write_text("0,train\n1,train\n2,val\n3,test\n")
    (tmp_path / "half.csv").write_text("0,train\n1,train\n")
    np.save(tmp_path / "x.npy", np.eye(6, dtype=np.float32))
    np.save(tmp_path / "nan.npy", np.full((6, 2), np.nan))
    np.savez(tmp_path / "e.npz", edge_index=np.array([[0, 1], [1, 9]]))
    before = sorted(path.name for path in tmp_path.iterdir())
    shown = cli("train", *arguments, "-q")
    assert shown.is_refusal(*parts), shown
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_resuming_a_checkpoint_that_does_not_fit_is_one_sentence(cli, tmp_path):
    train = ["train", "chains:4", "--epochs", 2, "--run", "run", "-q"]
    assert cli(*train, "--hidden", 4).status == 0
    before = (tmp_path / "run" / WEIGHTS).read_bytes()
    refused = cli(*train, "--hidden", 5, "--resume")
    assert refused.is_refusal("run/resume.safetensors does not fit this model", "train again")
    whole = (tmp_path / "run" / RESUME).read_bytes()
    (tmp_path / "run" / RESUME).write_bytes(whole[: len(whole) // 2])
    refused = cli(*train, "--hidden", 4, "--resume")
    assert refused.is_refusal("run/resume.safetensors is truncated or corrupt", "train again")
    assert (tmp_path / "run" / WEIGHTS).read_bytes() == before


def start(folder: Path, *command: object) -> subprocess.Popen[str]:
    # As many threads as here: sums may differ in their last bit otherwise.
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for(path: Path, process: subprocess.Popen[str], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not path.exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.02)


# A shell that starts the tests in the background lets them ignore Ctrl-C, and so would their children.
INTERRUPTIBLE = """
import signal
from ignn_solver.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


def test_ctrl_c_says_how_to_go_on_and_keeps_the_best_weights(cli, tmp_path):
    (tmp_path / "long.toml").write_text("[training]\npatience = 99999\n")
    train = ["train", "digits", "--hidden", 16, "--recipe", "long.toml", "--run", "run"]
    process = start(tmp_path, "-c", INTERRUPTIBLE, *train, "--epochs", 99999)
    try:
        wait_for(tmp_path / "run" / WEIGHTS, process)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert err.splitlines() == [
        "ignn-solver: interrupted; what was reached is kept in run: "
        "give the same command with --resume to go on"
    ]
    assert not out
    assert isinstance(load_model(tmp_path / "run"), IGNN)
    # Nothing half written is left either.
    assert {path.name for path in (tmp_path / "run").iterdir()} <= {CONFIG, WEIGHTS, RESUME}
    resumed = cli(*train, "--epochs", 12, "--resume", "--json", "out.json", "-q")
    assert resumed.status == 0, resumed.err
    assert json.loads((tmp_path / "out.json").read_text())["epochs"] >= 12


SAVING_OFTEN = """
import ignn_solver.tasks.node as node
from ignn_solver.cli import main
node._SECONDS_BETWEEN_SAVES = 0.0
main()
"""


def test_a_killed_training_ends_with_the_weights_it_would_have_had(cli, tmp_path):
    (tmp_path / "long.toml").write_text(
        "[model]\nhidden_channels = 8\n[training]\npatience = 999\n"
    )
    train = ["train", "chains:4", "--recipe", "long.toml", "--epochs", 100, "-q"]
    process = start(tmp_path, "-c", SAVING_OFTEN, *train, "--run", "killed")
    wait_for(tmp_path / "killed" / RESUME, process)
    time.sleep(0.1)
    process.kill()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    load_model(tmp_path / "killed")
    assert cli(*train, "--run", "killed", "--resume").status == 0
    assert cli(*train, "--run", "whole").status == 0
    one, other = (load_model(tmp_path / name).state_dict() for name in ("killed", "whole"))
    assert all(torch.equal(one[name], other[name]) for name in other)
    last, wanted = (
        json.loads((tmp_path / name / CONFIG).read_text()) for name in ("killed", "whole")
    )
    assert last == wanted
