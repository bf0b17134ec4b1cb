"""Files are whole or not there."""

import json
import os
import stat

import pytest

from ignn_solver.errors import InputError
from ignn_solver.files import read_json, replacing, write_json, write_text


def test_json_comes_back_as_it_went(tmp_path):
    path = tmp_path / "a" / "b" / "file.json"
    value = {"rows": [{"solver": "picard", "ms": 1.5, "ok": True, "none": None}], "name": "é"}
    write_json(path, value)
    assert read_json(path, "table") == value
    assert path.read_text(encoding="utf-8").endswith("}\n")
    assert [one.name for one in path.parent.iterdir()] == ["file.json"]


def test_the_last_writer_wins_and_the_mode_is_the_usual_one(tmp_path):
    path = tmp_path / "file.txt"
    write_text(path, "one")
    write_text(path, "two")
    assert path.read_text() == "two"
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, MemoryError])
def test_a_failure_half_way_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "file.txt"
    write_text(path, "good")

    def fail() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "good"
    assert [one.name for one in tmp_path.iterdir()] == ["file.txt"]


def test_a_full_disk_is_one_sentence_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.txt"
    write_text(path, "good")
    with (
        pytest.raises(InputError, match=r"cannot write .*file.txt: No space left"),
        replacing(path),
    ):
        raise OSError(28, "No space left on device")
    assert path.read_text() == "good"


def test_what_cannot_be_serialised_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.json"
    write_json(path, {"good": 1})
    with pytest.raises(TypeError):
        write_json(path, {"bad": object()})
    assert read_json(path, "table") == {"good": 1}
    write_json(path, {"set": {3}}, default=list)
    assert read_json(path, "table") == {"set": [3]}


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(InputError, match=r"cannot write .*out.json: .*; choose another output"):
        write_json(blocked / "out.json", 1)
    with pytest.raises(InputError, match=r"cannot write .*: Is a directory"):
        write_text(tmp_path, "text")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file"]


def test_unreadable_json_is_named(tmp_path):
    path = tmp_path / "file.json"
    with pytest.raises(InputError, match=r"^no recipe at .*file.json$"):
        read_json(path, "recipe")
    path.write_text(json.dumps({"a": 1})[:-2])
    with pytest.raises(
        InputError, match=r"recipe .*file.json is not readable JSON .*restore or delete"
    ):
        read_json(path, "recipe")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not readable JSON"):
        read_json(path, "recipe")
    with pytest.raises(InputError, match="is not readable JSON"):
        read_json(tmp_path, "recipe")
