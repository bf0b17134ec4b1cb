"""Every example runs as a user would run it, and so does the code of the README."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_and_says_something(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) >= 1


def test_there_are_five_short_examples():
    assert len(EXAMPLES) == 5
    assert all(len(path.read_text().splitlines()) <= 45 for path in EXAMPLES)


def test_the_readme_shows_the_quickstart_in_at_most_fifteen_lines():
    readme = (ROOT / "README.md").read_text()
    block = re.search(r"```python\n(.*?)```", readme, re.S)
    assert block is not None
    code = block.group(1)
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert float(names["out"].certified.float().mean()) > 0.9
    assert names["out"].solution.converged
