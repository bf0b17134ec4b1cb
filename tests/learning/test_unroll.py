import pytest
import torch

import ignn_solver as ig
from ignn_solver.errors import InputError
from ignn_solver.learning.unroll import UnrollOptions, part_size, unroll


def test_unrolling_is_what_a_solve_does(f, untrained):
    start, _ = untrained.initial(f)
    visited = []
    iterates, mixed = unroll(untrained.mixer, [f] * 4, start.detach(), None, visited.append)
    assert len(iterates) == len(mixed) == len(visited) == 4
    assert visited[1:] == iterates[:-1]
    trace = ig.solve(f, untrained, start.detach(), tol=0, max_evals=5, on_failure="return").trace
    residual = torch.linalg.norm(f(iterates[-1]) - iterates[-1]) / f(iterates[-1]).norm()
    assert float(trace[-1]) == pytest.approx(float(residual.detach()), rel=1e-3)


def test_parts_have_a_size(f, untrained):
    assert part_size(f, untrained, UnrollOptions(nodes=100)) == 100
    with pytest.raises(InputError, match="too little to unroll"):
        part_size(f, untrained, UnrollOptions(memory=1e-6))
    with pytest.raises(InputError, match="at least 32 nodes, not 8"):
        part_size(f, untrained, UnrollOptions(nodes=8))
