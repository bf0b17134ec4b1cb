"""``ignn-solver fit-solver``: a solver is learnt, kept, and used by ``solve``."""

import json
import shutil

import pytest

from ignn_solver.learning.store import FILE


@pytest.fixture
def run(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    return tmp_path / "run"


def test_the_learned_solver_is_kept_and_used(cli, run, tmp_path):
    shown = cli("fit-solver", "run", "--json", "fit.json", "-q")
    assert shown.status == 0, shown.err
    assert not shown.err
    record = json.loads((tmp_path / "fit.json").read_text())
    assert (record["run"], record["preset"]) == ("run", "learned")
    assert [row["tol"] for row in record["rows"]] == [1e-2, 1e-3, 1e-4]
    for row in record["rows"]:
        assert row["converged"]
        assert row["residual"] <= row["tol"]
        assert row["evals"] < row["picard_evals"]
        assert f"{row['evals']} evaluations, plain iteration {row['picard_evals']}" in shown.out
    assert f"kept in run/{FILE}" in shown.out
    records = {}
    for solver in (None, "learned", "picard"):
        options = [] if solver is None else ["--solver", solver]
        shown = cli("solve", "run", *options, "--json", "out.json", "-o", f"{solver}.csv")
        assert shown.status == 0, shown.err
        records[solver] = json.loads((tmp_path / "out.json").read_text())
    assert records[None]["solver"] == records["learned"]["solver"] == "learned"
    assert records["learned"]["evals"] == record["rows"][1]["evals"] < records["picard"]["evals"]
    classes = [
        [line.split(",")[:2] for line in (tmp_path / f"{solver}.csv").read_text().splitlines()]
        for solver in ("learned", "picard")
    ]
    assert classes[0] == classes[1]


def test_the_papers_solver_is_kept_and_used(cli, run, tmp_path):
    shown = cli("fit-solver", "run", "--preset", "learned-aa", "--steps", 3, "--memory", 1, "-q")
    assert shown.status == 0, shown.err
    shown = cli("solve", "run", "--json", "out.json")
    assert shown.status == 0, shown.err
    assert json.loads((tmp_path / "out.json").read_text())["solver"] == "learned"


def test_damaged_or_foreign_solvers_are_one_sentence(cli, run, tmp_path):
    assert cli("fit-solver", "run", "-q").status == 0
    whole = (run / FILE).read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"\x80\x04N."):
        (run / FILE).write_bytes(damaged)
        shown = cli("solve", "run")
        assert shown.is_refusal(f"run/{FILE} is truncated or corrupt"), shown
        assert cli("solve", "run", "--solver", "picard").status == 0
    shutil.copy(run / "model.safetensors", run / FILE)
    assert cli("solve", "run").is_refusal(f"run/{FILE} is not a learned solver")
    other = ["train", "chains:4", "--hidden", 5, "--epochs", 2, "--run", "other", "-q"]
    assert cli(*other).status == 0
    (tmp_path / "other" / FILE).write_bytes(whole)
    assert cli("solve", "other").is_refusal("width 8", "width 5", "fit a solver")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["run", "--preset", "magic"], ["unknown preset 'magic': choose one of learned"]),
        (["nowhere"], ["nowhere is not the folder of a run: train first"]),
        (["run", "--json", "file/out.json"], ["cannot write file/out.json"]),
    ],
)
def test_wrong_input_is_one_sentence(cli, run, tmp_path, arguments, parts):
    (tmp_path / "file").touch()
    assert cli("fit-solver", *arguments, "-q").is_refusal(*parts)
