"""The data directory: what is given, else the variable, else the user's cache."""

from pathlib import Path

import pytest

from ignn_solver.datasets.directory import VARIABLE, data_directory, storage, user_cache


def test_order_of_precedence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    assert data_directory() == tmp_path / "ignn-solver" == user_cache()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "variable"))
    assert data_directory() == tmp_path / "variable"
    assert data_directory(tmp_path / "given") == tmp_path / "given"


def test_home_is_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_directory("~/data") == tmp_path / "data"


@pytest.mark.parametrize(
    ("platform", "ending"),
    [("win32", "ignn-solver"), ("darwin", "Library/Caches/ignn-solver")],
)
def test_every_platform_has_a_cache(
    monkeypatch: pytest.MonkeyPatch, platform: str, ending: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    assert user_cache().as_posix().endswith(ending)


def test_new_files_go_where_they_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    data = tmp_path / "data"
    assert storage(data / "not" / "yet") == data / "not" / "yet"
    data.mkdir(mode=0o555)
    assert storage(data) == user_cache()
    assert storage(data / "not" / "yet") == user_cache()
