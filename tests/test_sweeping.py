"""Sweeps in place: the same fixed point, sooner, whatever the backend, the batch and the run."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ignn_solver.adjacency import Adjacency
from ignn_solver.equilibrium import AdjointMap, Contraction, EquilibriumMap
from ignn_solver.errors import InputError
from ignn_solver.sweeping import SweepMap
from problems import ACTIVATIONS, DOUBLE, GRAPHS, linear, maps, nonlinear, weight_of


def dense_sweep(f, z, block, chunks):
    """A sweep written down row by row with a dense matrix: nothing shared with the package."""
    a = f.adjacency.matrix.as_torch().to_dense()
    result = z.clone()
    for first, last in pairwise(chunks):
        for begin in range(first, last, block):
            seen = z.clone()
            seen[first:begin] = result[first:begin]
            for i in range(begin, min(begin + block, last)):
                value = a[i] @ seen @ f.weight + f.bias[i]
                if isinstance(f, AdjointMap):
                    result[i] = f.scale[i] * value
                else:
                    result[i] = getattr(torch, f.activation)(value)
    return result


def large(nodes=2600, width=5, seed=0, dtype=DOUBLE, batch=None):
    """A graph large enough for two chunks when there are two threads."""
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(nodes, (2, 3 * nodes), generator=generator)
    weight, contraction = weight_of("cayley", width, 0.9)
    adjacency = Adjacency.from_edge_index(
        edges, num_nodes=nodes, undirected=True, dtype=dtype, batch=batch
    )
    bias = torch.randn(nodes, width, dtype=dtype, generator=generator)
    return EquilibriumMap(adjacency, weight.to(dtype), bias, contraction)


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=["numba", "torch"])
def backend(request, monkeypatch):
    monkeypatch.setenv("IGNN_SOLVER_KERNELS", request.param)
    return request.param


@pytest.mark.parametrize("block", [1, 2, 3, 100])
@pytest.mark.parametrize("name", [n for n in GRAPHS if n != "batch"])
def test_a_sweep_is_what_it_says(backend, name, block):
    for activation in ACTIVATIONS:
        f = nonlinear(name, activation=activation).f
        z = torch.randn_like(f.bias)
        found = SweepMap(f, block).evaluate(z)
        expected = dense_sweep(f, z, block, [0, f.bias.shape[0]])
        torch.testing.assert_close(found.value, expected)
        torch.testing.assert_close(found.residual_sq, (expected - z).square().sum(1))
        torch.testing.assert_close(found.value_sq, expected.square().sum(1))


def test_one_block_is_one_evaluation(backend):
    f = nonlinear("complete").f
    z = torch.randn_like(f.bias)
    for one, other in zip(SweepMap(f, 100).evaluate(z), f.evaluate(z), strict=True):
        torch.testing.assert_close(one, other)


def test_the_backward_map_can_be_swept_too(backend):
    forward = nonlinear("weighted").f
    scale = torch.rand_like(forward.bias)
    f = AdjointMap(
        forward.adjacency.transpose,
        forward.weight.T,
        forward.bias,
        scale,
        forward.contraction,
    )
    z = torch.randn_like(f.bias)
    expected = dense_sweep(f, z, 2, [0, 6])
    torch.testing.assert_close(SweepMap(f, 2).evaluate(z).value, expected)


@given(maps(max_nodes=12), st.integers(1, 5))
def test_every_sweep_brings_the_errors_down_by_the_contraction_factor(drawn, block):
    graph, f = drawn
    answer = f.start()
    for _ in range(2000):
        answer = f(answer)
    z = answer + torch.randn_like(answer)
    swept = SweepMap(f, block).evaluate(z).value
    norm = {"2": 2.0, "inf": torch.inf, "1": 1.0}[f.contraction.norm]
    before = torch.linalg.vector_norm(z - answer, norm, dim=1)
    after = torch.linalg.vector_norm(swept - answer, norm, dim=1)
    factor, a = f.contraction.factor, graph.dense()
    # e <= factor * A max(e, before): each row has seen errors no larger than these.
    assert bool((after <= factor * (a @ torch.maximum(before, after)) + 1e-9).all())
    # The certificate of f, with the residual of the sweep: e <= K e + K r.
    residual = torch.linalg.vector_norm(swept - z, norm, dim=1)
    assert bool((after <= factor * (a @ (after + residual)) + 1e-9).all())
    if norm == 2:
        true = torch.linalg.norm(f(swept) - swept)
        assert true <= factor * torch.linalg.norm(residual) + 1e-9


@pytest.mark.parametrize("name", GRAPHS)
def test_sweeps_converge_to_the_fixed_point(backend, name):
    problem = linear(name)
    sweeps = SweepMap(problem.f, 2)
    z = sweeps.start()
    for _ in range(150):
        z = sweeps.evaluate(z).value
    torch.testing.assert_close(z, problem.answer)


def test_the_product_with_w_is_reused_only_for_the_last_result_untouched(backend):
    f = nonlinear("weighted").f
    sweeps = SweepMap(f, 2)

    def check(z):
        torch.testing.assert_close(sweeps.evaluate(z).value, dense_sweep(f, z, 2, [0, 6]))

    first = sweeps.evaluate(f.start()).value
    check(first)
    check(first)  # no longer the last result
    last = sweeps.evaluate(first).value
    last.mul_(0.5)  # changed since
    check(last)
    again = sweeps.evaluate(first, out=torch.empty_like(first)).value
    torch.testing.assert_close(sweeps.measure(again).value, f.evaluate(again).value)
    check(again)
    # Measured into the memory of the last result: what is known of it is forgotten.
    result = sweeps.evaluate(first).value
    sweeps.measure(first, out=result)
    check(result)


def test_chunks_see_each_other_as_they_were(backend, two_threads):
    f = large()
    sweeps = SweepMap(f, 128)
    chunks = sweeps._chunks.tolist()
    assert len(chunks) == 3
    work = np.diff(f.adjacency.matrix.rowptr.numpy()[chunks])
    assert 0.8 < work[0] / work[1] < 1.25
    z = f.start()
    for _ in range(3):
        expected = dense_sweep(f, z, 128, chunks)
        z = sweeps.evaluate(z).value
        torch.testing.assert_close(z, expected)


def test_the_result_is_the_same_in_every_run(two_threads):
    f = large(dtype=torch.float32)

    def run():
        sweeps = SweepMap(f)
        z = sweeps.start()
        for _ in range(6):
            z = sweeps.evaluate(z).value
        return z

    first = run()
    assert all(torch.equal(run(), first) for _ in range(5))


def test_backends_agree_in_single_precision(two_threads, monkeypatch):
    f = large(width=16, dtype=torch.float32)
    z = f.start()
    found = {}
    for name in ("numba", "torch"):
        monkeypatch.setenv("IGNN_SOLVER_KERNELS", name)
        found[name] = SweepMap(f).evaluate(z).value
    difference = (found["numba"] - found["torch"]).abs().max()
    assert difference <= 1e-6 * found["torch"].abs().max()


def test_a_graph_does_not_see_its_batch_mates(backend, two_threads):
    sizes = (2600, 3, 1, 2100)
    parts = [large(n, seed=n) for n in sizes]
    edges, offset = [], 0
    for part in parts:
        matrix = part.adjacency.matrix
        edges.append(torch.stack([matrix.col, matrix.row]).long() + offset)
        offset += part.bias.shape[0]
    batch = torch.arange(4).repeat_interleave(torch.tensor(sizes))
    adjacency = Adjacency.from_edge_index(
        torch.cat(edges, 1), num_nodes=offset, undirected=True, batch=batch, dtype=DOUBLE
    )
    bias = torch.cat([part.bias for part in parts])
    both = EquilibriumMap(adjacency, parts[0].weight, bias, Contraction(0.9))
    together = SweepMap(both).evaluate(both.start()).value
    alone = [SweepMap(part).evaluate(part.start()).value for part in parts]
    torch.testing.assert_close(together, torch.cat(alone), rtol=1e-14, atol=1e-14)


def test_a_block_has_rows():
    with pytest.raises(InputError, match="at least 1 row, not 0"):
        SweepMap(linear("chain").f, 0)
