from pathlib import Path

import pytest

from report_results import fill


@pytest.fixture
def results(tmp_path) -> Path:
    """A folder with one results file of each shape."""
    folder = tmp_path / "results"
    folder.mkdir()
    return fill(folder)
