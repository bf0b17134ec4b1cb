import json

import pytest

from ignn_solver import InputError
from ignn_solver.experiments.grid import Cell, finished, run_grid


def grid(count=4, **extra):
    return [Cell(("data", "model", f"fold-{i}"), {"fold": i, **extra}) for i in range(count)]


def test_only_what_is_missing_is_run(tmp_path):
    done = []

    def work(arguments):
        done.append(arguments["fold"])
        return {"square": arguments["fold"] ** 2}

    run_grid(grid(2), work, tmp_path)
    run_grid(grid(4), work, tmp_path)
    assert done == [0, 1, 2, 3]
    assert [finished(cell, tmp_path)["square"] for cell in grid()] == [0, 1, 4, 9]
    run_grid(grid(4), work, tmp_path, resume=False)
    assert done == [0, 1, 2, 3, 0, 1, 2, 3]


def test_a_killed_run_keeps_what_is_finished_and_goes_on(tmp_path):
    done = []

    def dies(arguments):
        if arguments["fold"] == 2:
            raise KeyboardInterrupt
        done.append(arguments["fold"])
        return {"value": 1}

    with pytest.raises(KeyboardInterrupt):
        run_grid(grid(), dies, tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "data", "fold-0.json", "fold-1.json", "model",
    ]  # fmt: skip
    run_grid(grid(), lambda arguments: done.append(arguments["fold"]) or {"value": 2}, tmp_path)
    assert done == [0, 1, 2, 3]
    assert [finished(cell, tmp_path)["value"] for cell in grid()] == [1, 1, 2, 2]


def test_a_cell_with_other_arguments_is_run_again(tmp_path):
    run_grid(grid(1, lr=0.1), lambda _: {"value": 1}, tmp_path)
    (changed,) = grid(1, lr=0.2)
    assert finished(changed, tmp_path) is None
    run_grid([changed], lambda _: {"value": 2}, tmp_path)
    assert finished(changed, tmp_path) == {"value": 2}


def test_a_file_that_is_no_cell_is_named(tmp_path):
    (cell,) = grid(1)
    path = cell.path(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps([1]))
    with pytest.raises(InputError, match=r"fold-0\.json is not the result of a cell"):
        finished(cell, tmp_path)
    path.write_text("{")
    with pytest.raises(InputError, match="not readable JSON"):
        finished(cell, tmp_path)


def test_two_cells_cannot_share_a_file(tmp_path):
    with pytest.raises(InputError, match="two cells"):
        run_grid(grid(1) * 2, lambda _: {}, tmp_path)
