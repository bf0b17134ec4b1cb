"""Patched adjacencies against those built anew."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ignn_solver import Adjacency
from ignn_solver.updates.patch import with_edges, with_rows_appended


def dense(adjacency):
    return adjacency.matrix.as_torch().to_dense()


def build(weights, undirected, weighted):
    """From a dense matrix of edge weights, target by source."""
    target, source = weights.nonzero().T
    return Adjacency.from_edge_index(
        torch.stack([source, target]),
        weights[target, source] if weighted else None,
        weights.shape[0],
        undirected=undirected,
        dtype=torch.float64,
    )


def random_graph(seed, nodes, undirected, weighted):
    generator = torch.Generator().manual_seed(seed)
    weights = (torch.rand(nodes, nodes, generator=generator) < 0.3).double()
    if weighted:
        weights *= torch.rand(nodes, nodes, generator=generator, dtype=torch.float64) + 0.1
    return weights.triu(1) if undirected else weights.fill_diagonal_(0), generator


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 8), st.booleans(), st.booleans())
def test_a_patched_adjacency_is_the_one_built_anew(seed, nodes, changes, undirected, weighted):
    weights, generator = random_graph(seed, nodes, undirected, weighted)
    source = torch.randint(0, nodes, (changes,), generator=generator)
    target = (source + torch.randint(1, nodes, (changes,), generator=generator)) % nodes
    new = (
        torch.rand(changes, generator=generator).double() + 0.1 if weighted else torch.ones(changes)
    )
    new = torch.where(torch.rand(changes, generator=generator) < 0.4, 0.0, new.double())
    before = build(weights, undirected, weighted)
    for i, j, weight in zip(source.tolist(), target.tolist(), new.tolist(), strict=True):
        place = (min(i, j), max(i, j)) if undirected else (j, i)
        weights[place] = weight
    anew = build(weights, undirected, weighted)
    patched, changed = with_edges(before, source, target, new)
    torch.testing.assert_close(dense(patched), dense(anew))
    assert torch.equal(patched.matrix.rowptr, anew.matrix.rowptr)
    assert torch.equal(patched.matrix.col, anew.matrix.col)
    torch.testing.assert_close(patched.degree, anew.degree)
    torch.testing.assert_close(patched.matrix.transpose.as_torch().to_dense(), dense(anew).T)
    differs = (dense(anew) - dense(before)).abs().amax(1) > 1e-12
    assert set(differs.nonzero().squeeze(1).tolist()) <= set(changed.tolist())


def test_a_node_that_loses_its_last_edge_and_gets_one_back():
    edges = torch.tensor([[0], [1]])
    options = {"undirected": True, "self_loops": False, "dtype": torch.float64}
    adjacency = Adjacency.from_edge_index(edges, num_nodes=3, **options)
    alone, _ = with_edges(adjacency, edges[0], edges[1], torch.zeros(1))
    assert alone.num_entries == 0
    assert alone.degree.tolist() == [0, 0, 0]
    back, _ = with_edges(alone, torch.tensor([2]), torch.tensor([0]), torch.ones(1))
    assert dense(back).tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]


def test_new_nodes_have_an_edge_to_themselves():
    adjacency = Adjacency.from_edge_index(torch.tensor([[0], [1]]), undirected=True)
    grown = with_rows_appended(adjacency, 2)
    expected = torch.eye(4)
    expected[:2, :2] = 0.5
    torch.testing.assert_close(dense(grown), expected)
    assert grown.degree.tolist() == [2, 2, 1, 1]


def test_many_patches_do_not_drift():
    weights, generator = random_graph(5, 12, True, False)
    adjacency = build(weights, True, False).to(torch.float32)
    for _ in range(200):
        i, j = torch.randperm(12, generator=generator)[:2].sort().values
        weights[i, j] = 1 - weights[i, j]
        adjacency, _ = with_edges(adjacency, i[None], j[None], weights[i, j][None])
    torch.testing.assert_close(
        dense(adjacency).double(), dense(build(weights, True, False)), rtol=1e-4, atol=1e-6
    )
