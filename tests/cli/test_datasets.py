"""``ignn-solver datasets``."""

import json
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from ignn_solver.cli import app
from ignn_solver.datasets import names
from ignn_solver.errors import InputError


def test_the_table_and_its_json_have_every_dataset(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    arguments = ["datasets", "--data-dir", str(tmp_path), "--json", str(target)]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert "blocks:products*" in result.output
    rows = json.loads(target.read_text())["rows"]
    assert [row["name"] for row in rows] == names()
    citeseer = next(row for row in rows if row["name"] == "citeseer")
    assert citeseer["available"] == "download"
    assert (citeseer["count"], citeseer["classes"]) == (3327, 6)


def test_the_data_directory_is_looked_into(tmp_path: Path) -> None:
    (tmp_path / "MUTAG.zip").touch()
    target = tmp_path / "out.json"
    arguments = ["datasets", "--data-dir", str(tmp_path), "--json", str(target)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    rows = {row["name"]: row for row in json.loads(target.read_text())["rows"]}
    assert rows["mutag"]["available"] == "here"


def test_an_output_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = CliRunner().invoke(app, ["datasets", "--json", str(tmp_path / "file" / "out.json")])
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith("cannot write")


def test_a_damaged_archive_is_one_sentence_status_2_and_nothing_kept(tmp_path: Path) -> None:
    (tmp_path / "citeseer.zip").write_bytes(b"PK\x03\x04 and no more")
    done = subprocess.run(
        [sys.executable, "-m", "ignn_solver", "train", "citeseer", "--data-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("ignn-solver: citeseer.zip is truncated or not an archive")
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["citeseer.zip"]
