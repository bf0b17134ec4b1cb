import json

import pytest

from ignn_solver.errors import InputError
from ignn_solver.pages.fill import BLOCKS, filled, outdated, refresh

COMMAND = {"command": "bench.py --x", "environment": {"threads": 2}}


def write(folder, name, **content):
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({**COMMAND, **content}))


def page(name, inside=""):
    return f"Before.\n\n<!-- table {name} -->\n{inside}<!-- end -->\n\nAfter.\n"


def test_what_is_not_measured_names_its_command(tmp_path):
    for name, block in BLOCKS.items():
        text = filled(page(name, "an old table\n"), tmp_path, "results")
        assert f"Not measured yet: `{block.command}`." in text
        assert "an old table" not in text
        assert text.startswith("Before.\n\n")
        assert text.endswith("<!-- end -->\n\nAfter.\n")


def test_a_table_says_where_it_comes_from(tmp_path):
    content = {"nodes": 1000, "hidden": 8, "evals": 10, "solve_ms": 30.0, "bare_ms": 6.0}
    write(tmp_path, "loop-overhead", **content, ratio=0.5)
    text = filled(page("loop-overhead"), tmp_path, "../results")
    assert "| 1,000 | 8 | 10 | 30 | 60 | 0.50 |" in text
    assert "[loop-overhead.json](../results/loop-overhead.json), made by `bench.py --x`" in text
    assert "2 threads." in text
    assert "Other processes" not in text


def test_a_busy_machine_is_confessed(tmp_path):
    content = {"nodes": 1000, "hidden": 8, "evals": 10, "solve_ms": 30.0, "bare_ms": 6.0}
    write(tmp_path, "loop-overhead", **content, ratio=0.5, others_cores=1.04)
    text = filled(page("loop-overhead"), tmp_path, "results")
    assert "Other processes used up to 1.0 cores meanwhile." in text


def test_a_figure_shows_its_pictures(tmp_path):
    rows = [{"model": "ignn", "length": 4, "accuracy": 1.0, "std": 0.0}]
    write(tmp_path, "figure-chains", rows=rows, quick=True)
    (tmp_path / "figure-chains.png").touch()
    text = filled(page("chains"), tmp_path, "../results")
    assert "![figure-chains](../results/figure-chains.png)" in text
    assert "`bench.py --x`, quick settings; 2 threads." in text


def test_filling_twice_changes_nothing(tmp_path):
    once = filled(page("paper") + page("speedups"), tmp_path, "results")
    assert filled(once, tmp_path, "results") == once


def test_a_table_that_nobody_makes_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no table 'speed'"):
        filled(page("speed"), tmp_path, "results")


def test_a_checkout_is_brought_up_to_date(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("No tables here.\n")
    (tmp_path / "docs" / "a.md").write_text(page("chains"))
    rows = [{"model": "ignn", "length": 4, "accuracy": 0.987, "std": 0.0}]
    write(tmp_path / "results", "figure-chains", rows=rows)
    assert list(outdated(tmp_path)) == [tmp_path / "docs" / "a.md"]
    assert refresh(tmp_path) == [tmp_path / "docs" / "a.md"]
    text = (tmp_path / "docs" / "a.md").read_text()
    assert "| ignn | 99 |" in text
    assert "(../results/figure-chains.json)" in text
    assert outdated(tmp_path) == {}
