import sys

import pytest

from ignn_solver import InputError
from ignn_solver.scalars import scalars
from scalar_events import read_scalars


def test_what_is_written_can_be_read_back(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")

    def interrupted():
        with scalars(tmp_path / "new" / "folder") as written:
            written.add(3, {"a/b": 0.5, "absent": None})
            written.add(4, {"a/b": 0.25})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert read_scalars(tmp_path / "new" / "folder") == {"a/b": [(3, 0.5), (4, 0.25)]}


def test_nothing_is_imported_or_written_when_nobody_asks(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with scalars(None) as written:
        written.add(0, {"a": 1.0})


def test_a_missing_tensorboard_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with (
        pytest.raises(InputError, match=r"not installed: pip install 'ignn-solver\[tensorboard\]'"),
        scalars(tmp_path / "x"),
    ):
        pass
    assert not (tmp_path / "x").exists()


def test_a_folder_that_cannot_be_is_one_sentence(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot write into .*file"), scalars(tmp_path / "file"):
        pass
