import pytest
import torch

import ignn_solver as ig
from ignn_solver.errors import InputError
from ignn_solver.learning.fit import PRESETS
from ignn_solver.tensors import save_tensors


@pytest.mark.parametrize("preset", PRESETS)
def test_a_solver_comes_back_as_it_was(model, graph, f, tmp_path, preset):
    options = (
        {}
        if preset == "learned"
        else {
            "iterations": 3,
            "safeguard": True,
            "window": 3,
            "history": "half",
        }
    )
    solver = ig.fit_solver(model, graph, preset, steps=4, **options)
    path = solver.save(tmp_path / "run")
    assert path.name == "solver.safetensors"
    again = ig.load_solver(tmp_path / "run")
    assert again.details == solver.details
    assert preset == "learned" or again.history == "half"
    one, other = (ig.solve(f, s, tol=1e-3, on_failure="return") for s in (solver, again))
    assert torch.equal(one.trace, other.trace)


def test_mistakes(model, graph, tmp_path):
    with pytest.raises(InputError, match="no learned solver at"):
        ig.load_solver(tmp_path)
    path = ig.fit_solver(model, graph, steps=2).save(tmp_path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match="truncated or corrupt"):
        ig.load_solver(tmp_path)
    save_tensors(path, {"weight": torch.eye(2)}, {"format": 99})
    with pytest.raises(InputError, match="not a learned solver of format"):
        ig.load_solver(tmp_path)
    save_tensors(path, {"weight": torch.eye(2)}, {"format": 1, "kind": "learned", "details": {}})
    with pytest.raises(InputError, match="lacks parts"):
        ig.load_solver(tmp_path)
