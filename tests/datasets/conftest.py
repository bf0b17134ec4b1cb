"""Every test parses into a cache of this session's own, never into the user's."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ignn_solver.datasets import load
from ignn_solver.datasets.directory import VARIABLE
from ignn_solver.errors import InputError


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory with nothing in it, and a user's cache with nothing either."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture(scope="session")
def real() -> Callable[..., Any]:
    """Load a real dataset, or skip where its archive is absent and cannot be fetched."""

    def load_or_skip(name: str, **options: Any) -> Any:
        try:
            return load(name, **options)
        except InputError as error:
            if "could not be downloaded" in str(error) or "cannot be downloaded" in str(error):
                directory = os.environ.get(VARIABLE, "the user's cache")
                pytest.skip(f"the archive of {name} is not in {directory} and there is no network")
            raise

    return load_or_skip
