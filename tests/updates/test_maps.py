"""Changed maps against those made anew from the changed graph, and predictions from them."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from ignn_solver import IGNN, InputError
from ignn_solver.updates import GraphChange, changed_map


def graph(generator, nodes=60, weighted=False, sparse=False):
    edges = torch.randint(0, nodes, (2, 3 * nodes), generator=generator)
    edges = edges[:, edges[0] < edges[1]].unique(dim=1)
    x = torch.randn(nodes, 6, generator=generator, dtype=torch.float64)
    x[x < 0] = 0
    weight = torch.rand(edges.shape[1], generator=generator, dtype=torch.float64) + 0.2
    return Data(
        x=x.to_sparse_csr() if sparse else x,
        edge_index=edges,
        edge_weight=weight if weighted else None,
    )


def some_change(generator, data, weighted, new):
    nodes, count = data.num_nodes, data.edge_index.shape[1]
    gone = torch.randperm(count, generator=generator)[:3]
    source = torch.randint(0, nodes + new, (4,), generator=generator)
    target = (source + torch.randint(1, nodes, (4,), generator=generator)) % (nodes + new)
    rows = torch.randn(3 + new, 6, generator=generator, dtype=torch.float64)
    return GraphChange(
        nodes=torch.randperm(nodes, generator=generator)[:3],
        features=rows[:3],
        added_edges=torch.stack([source, target]),
        added_weights=torch.rand(4, generator=generator).double() + 0.2 if weighted else None,
        removed_edges=data.edge_index[:, gone],
        new_features=rows[3:] if new else None,
    )


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 2]),
)
def test_an_updated_prediction_is_that_of_the_changed_graph(
    seed, weighted, sparse, propagate, undirected, new
):
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    model = IGNN(6, 5, 3, 0.8, propagate_input=propagate, undirected=undirected).double().eval()
    data = graph(generator, weighted=weighted, sparse=sparse)
    before = model.predict(data, tol=1e-9)
    change = some_change(generator, data, weighted, new)
    after = change.apply(data, undirected=undirected)
    anew = model.predict(after, tol=1e-11)
    f, changed = changed_map(before.map, change, model.conv.input, propagate=propagate)
    exact = anew.map
    torch.testing.assert_close(f.bias, exact.bias)
    torch.testing.assert_close(
        f.adjacency.matrix.as_torch().to_dense(), exact.adjacency.matrix.as_torch().to_dense()
    )
    if new == 0:
        kept = torch.ones(data.num_nodes, dtype=torch.bool)
        kept[changed] = False
        assert torch.equal(f.bias[kept], before.map.bias[kept])
    updated = model.update(before, change, tol=1e-9)
    torch.testing.assert_close(updated.solution.value, anew.solution.value, rtol=0, atol=1e-6)
    torch.testing.assert_close(updated.probabilities, anew.probabilities, rtol=0, atol=1e-6)
    assert float((updated.classes == anew.classes).double().mean()) == 1


@pytest.fixture
def model():
    return IGNN(6, 5, 3, 0.8).double()


@pytest.fixture
def data():
    return graph(torch.Generator().manual_seed(3), nodes=400)


def one_node(row=7):
    return GraphChange(nodes=torch.tensor([row]), features=torch.ones(1, 6).double())


def test_only_nodes_that_moved_are_classified_again(model, data):
    before = model.predict(data)
    after = model.update(before, one_node())
    still = torch.ones(400, dtype=torch.bool)
    still[after.solution.moved] = False
    assert 0 < int((~still).sum()) < 400
    assert torch.equal(after.probabilities[still], before.probabilities[still])
    assert not torch.equal(after.probabilities[7], before.probabilities[7])


def test_updates_follow_one_another(model, data):
    prediction = model.predict(data, tol=1e-8)
    for row in (7, 30, 7, 200):
        change = one_node(row)
        data = change.apply(data)
        prediction = model.update(prediction, change, tol=1e-8)
    anew = model.predict(data, tol=1e-10)
    torch.testing.assert_close(prediction.solution.value, anew.solution.value, rtol=0, atol=1e-6)


def test_in_place_everything_is_overwritten_and_otherwise_nothing(model, data):
    before = model.predict(data)
    kept = [before.solution.value, before.map.bias, before.probabilities, before.classes, data.x]
    copies = [one.clone() for one in kept]
    copied = model.update(before, one_node())
    assert all(torch.equal(one, other) for one, other in zip(kept, copies, strict=True))
    overwritten = model.update(before, one_node(), in_place=True)
    assert overwritten.solution.value is before.solution.value
    assert overwritten.probabilities is before.probabilities
    assert data.x[7].tolist() == [1.0] * 6
    torch.testing.assert_close(overwritten.solution.value, copied.solution.value)


def test_an_updated_prediction_can_be_certified(model, data):
    before = model.predict(data, tol=1e-5)
    change = one_node()
    after = model.update(before, change, tol=1e-5, certify=True)
    truth = model.predict(change.apply(data), tol=1e-12)
    assert float(after.certified.double().mean()) > 0.8
    assert bool((after.classes == truth.classes)[after.certified].all())
    error = (after.solution.value - truth.solution.value).norm(dim=-1)
    assert bool((after.bound + 1e-10 >= error).all())


def test_a_change_of_nearly_everything_is_solved_whole(model, data):
    before = model.predict(data)
    change = GraphChange(nodes=torch.arange(400), features=torch.ones(400, 6).double())
    after = model.update(before, change)
    assert after.solution.moved is None
    anew = model.predict(change.apply(data))
    assert torch.equal(after.classes, anew.classes)


def test_another_model_and_batches_with_new_nodes_are_refused(model, data):
    before = model.predict(data)
    with pytest.raises(InputError, match="not the one that made this prediction"):
        IGNN(6, 5, 3, 0.8).double().update(before, one_node())
    with pytest.raises(InputError, match="does not know its features"):
        changed_map(replace(before.map, features=None), one_node(), model.conv.input)
    batch = Batch.from_data_list([data, data])
    both = model.predict(batch)
    new = GraphChange(new_features=torch.ones(1, 6).double())
    with pytest.raises(InputError, match="cannot be added to a batch"):
        model.update(both, new)
    with pytest.raises(InputError, match="joins two graphs"):
        model.update(both, GraphChange(added_edges=torch.tensor([[0], [500]])))
    after = model.update(both, one_node(407))
    assert bool((after.solution.moved >= 400).all())
