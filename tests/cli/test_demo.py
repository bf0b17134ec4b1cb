"""``ignn-solver demo``."""

import json

import matplotlib.image
import pytest


def test_the_demo_prints_a_table_and_writes_a_picture_and_json(cli, tmp_path):
    shown = cli("demo", "--epochs", 6, "--output", "out", "--json", "out/demo.json", "-q")
    assert shown.status == 0, shown.err
    assert not shown.err
    record = json.loads((tmp_path / "out" / "demo.json").read_text())
    rows = record["rows"]
    assert [row["solver"] for row in rows] == ["picard", "anderson", "broyden", "sweep", "learned"]
    for row in rows:
        assert row.keys() == {"solver", "evals", "ms", "residual", "accuracy"}
        assert isinstance(row["evals"], int)
        assert row["evals"] > 1
        assert row["ms"] > 0
        assert 0 < row["residual"] <= 1e-3
        assert 0.3 < row["accuracy"] <= 1
        assert row["solver"] in shown.out
        assert f"{row['accuracy']:.3f}" in shown.out
    accuracies = [row["accuracy"] for row in rows]
    assert max(accuracies) - min(accuracies) < 0.02
    for column in ("solver", "evaluations", "ms", "relative residual", "test accuracy"):
        assert column in shown.out
    assert record["command"].startswith("ignn-solver demo --epochs 6")
    assert record["dataset"] == "digits"
    picture = matplotlib.image.imread(tmp_path / "out" / "convergence.png")
    assert picture.shape[0] >= 400
    assert picture.shape[1] >= 1000
    assert picture.std() > 0
    assert "out/convergence.png" in shown.out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "convergence.png",
        "demo.json",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--epochs", 0], "epochs must be a whole number of at least 1, not 0"),
        (["--epochs", 1, "--tol", "-1"], "tol must be at least 0, not -1.0"),
        (["--epochs", 1, "--output", "file/out"], "choose another output directory"),
    ],
)
def test_wrong_input_is_one_sentence(cli, tmp_path, arguments, sentence):
    (tmp_path / "file").touch()
    assert cli("demo", "-q", *arguments).is_refusal(sentence)
