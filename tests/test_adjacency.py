"""The normalised adjacency against a dense one, and what it refuses."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from ignn_solver.adjacency import Adjacency
from ignn_solver.errors import InputError
from problems import DOUBLE, GRAPHS, Graph, graphs


def to_dense(adjacency: Adjacency) -> torch.Tensor:
    return adjacency.matrix.as_torch().to_dense()


@pytest.mark.parametrize("name", GRAPHS)
def test_equals_the_dense_normalisation(name):
    graph = GRAPHS[name]
    torch.testing.assert_close(to_dense(graph.adjacency()), graph.dense())


@given(graphs())
def test_spectral_norm_is_at_most_one_and_transpose_is_the_transpose(graph):
    adjacency = graph.adjacency()
    dense = to_dense(adjacency)
    torch.testing.assert_close(dense, graph.dense())
    assert torch.linalg.matrix_norm(dense, 2) <= 1 + 1e-12
    torch.testing.assert_close(to_dense(adjacency.transpose), dense.T)
    assert adjacency.symmetric == graph.undirected
    if graph.undirected:
        assert torch.linalg.eigvalsh(dense).max() > 1 - 1e-12  # reached: D^(1/2) 1


@given(graphs(), st.randoms(use_true_random=False))
def test_order_and_repetition_of_edges_change_nothing(graph, random):
    edges = list(range(graph.edge_index.shape[1]))
    repeated = [*edges, *(random.choices(edges, k=3) if edges and graph.weight is None else [])]
    random.shuffle(repeated)
    weight = None if graph.weight is None else graph.weight[repeated]
    index = graph.edge_index[:, torch.tensor(repeated, dtype=torch.long)]
    shuffled = Graph(index, graph.num_nodes, weight, graph.undirected)
    torch.testing.assert_close(to_dense(shuffled.adjacency()), to_dense(graph.adjacency()))


def test_weights_of_a_repeated_edge_add_up():
    index = torch.tensor([[0, 0, 1], [1, 1, 2]])
    twice = Graph(index, 3, torch.tensor([1.0, 2.0, 5.0], dtype=DOUBLE)).adjacency()
    once = Graph(index[:, 1:], 3, torch.tensor([3.0, 5.0], dtype=DOUBLE)).adjacency()
    torch.testing.assert_close(to_dense(twice), to_dense(once))


def test_the_larger_weight_counts_where_both_directions_are_given():
    index = torch.tensor([[0, 1], [1, 0]])
    both = Graph(index, 2, torch.tensor([1.0, 4.0], dtype=DOUBLE)).adjacency()
    one = Graph(index[:, 1:], 2, torch.tensor([4.0], dtype=DOUBLE)).adjacency()
    torch.testing.assert_close(to_dense(both), to_dense(one))
    assert both.degree.tolist() == [5.0, 5.0]


def test_a_given_self_loop_is_not_added_again_and_loops_can_be_left_out():
    index = torch.tensor([[0, 0], [0, 1]])
    weight = torch.tensor([3.0, 1.0], dtype=DOUBLE)
    adjacency = Graph(index, 2, weight).adjacency()
    assert adjacency.degree.tolist() == [4.0, 2.0]
    bare = Adjacency.from_edge_index(index[:, 1:], num_nodes=3, undirected=True, self_loops=False)
    assert to_dense(bare).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]


def test_an_edge_carries_its_source_to_its_target():
    adjacency = Adjacency.from_edge_index(torch.tensor([[0], [1]]), num_nodes=2)
    received = adjacency.matmul(torch.tensor([1.0, 0.0]))
    assert received[1] > 0
    torch.testing.assert_close(received, torch.tensor([0.5**0.5, 0.5]))


def test_number_of_nodes_defaults_to_the_largest_id_plus_one():
    assert Adjacency.from_edge_index(torch.tensor([[0], [4]])).num_nodes == 5


def test_a_batch_sums_and_spreads_graph_by_graph():
    adjacency = GRAPHS["batch"].adjacency()
    x = torch.arange(16, dtype=torch.float32).view(8, 2)
    assert adjacency.num_graphs == 3
    assert adjacency.graph_sizes.tolist() == [3, 4, 1]
    total = adjacency.sum_per_graph(x)
    assert total.dtype == DOUBLE
    assert total.tolist() == [[6, 9], [36, 40], [14, 15]]
    assert adjacency.sum_per_graph(x[:, 0]).tolist() == [6, 36, 14]
    assert adjacency.max_per_graph(x).tolist() == [[4, 5], [12, 13], [14, 15]]
    assert adjacency.spread(torch.tensor([7, 8, 9])).tolist() == [7, 7, 7, 8, 8, 8, 8, 9]
    single = GRAPHS["chain"].adjacency()
    assert single.graph_sizes.tolist() == [7]
    assert single.sum_per_graph(torch.ones(7, 2)).tolist() == [[7, 7]]


@pytest.mark.parametrize("shape", [(), (3,)])
def test_sums_are_right_where_a_graph_has_no_node(shape):
    batch = torch.tensor([0, 0, 2, 3, 3, 3])
    loops = torch.arange(6).repeat(2, 1)
    adjacency = Adjacency.from_edge_index(loops, batch=batch)
    x = torch.randn(6, *shape)
    expected = torch.stack([x[batch == graph].double().sum(0) for graph in range(4)])
    torch.testing.assert_close(adjacency.sum_per_graph(x), expected)
    whole = Adjacency.from_edge_index(loops, batch=batch.clamp_min(1) - 1)
    torch.testing.assert_close(whole.sum_per_graph(x), expected[[0, 2, 3]])


def test_a_pyg_batch_is_block_diagonal():
    parts = [
        Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2),
        Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=4),
    ]
    together = Adjacency.from_data(Batch.from_data_list(parts))
    blocks = [to_dense(Adjacency.from_data(part)) for part in parts]
    torch.testing.assert_close(to_dense(together), torch.block_diag(*blocks))
    assert together.num_graphs == 2


def test_from_data_reads_weights_and_direction():
    weight = torch.tensor([2.0, 3.0])
    data = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), edge_weight=weight, num_nodes=3)
    directed = Graph(data.edge_index, 3, weight.double(), undirected=False)
    found = Adjacency.from_data(data, undirected=False, dtype=DOUBLE)
    torch.testing.assert_close(to_dense(found), directed.dense())
    with pytest.raises(InputError, match="no edge_index"):
        Adjacency.from_data(Data(x=torch.ones(2, 1)))


@pytest.mark.parametrize("undirected", [True, False])
def test_gradients_reach_the_edge_weights(undirected):
    index = torch.tensor([[0, 1, 2, 0, 3], [1, 2, 0, 1, 3]])
    weight = torch.tensor([0.5, 1.5, 2.5, 0.7, 1.1], dtype=DOUBLE, requires_grad=True)
    x = torch.randn(4, 2, dtype=DOUBLE, requires_grad=True)

    def product(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        adjacency = Adjacency.from_edge_index(index, weight, 4, undirected=undirected, dtype=DOUBLE)
        return adjacency.matmul(x)

    assert torch.autograd.gradcheck(product, (weight, x))


def test_conversion_keeps_everything_else():
    adjacency = GRAPHS["batch"].adjacency().to(torch.float32)
    assert adjacency.matrix.dtype == adjacency.degree.dtype == torch.float32
    assert adjacency.symmetric
    assert adjacency.transpose is adjacency
    assert adjacency.num_graphs == 3
    assert repr(adjacency) == "Adjacency(8 nodes, 18 entries, 3 graphs)"


EDGES = torch.tensor([[0, 1], [1, 2]])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"edge_index": torch.tensor([[0], [3]]), "num_nodes": 3},
            r"names node 3, but .* 0 to 2: fix",
        ),
        (
            {"edge_index": torch.tensor([[0], [-1]]), "num_nodes": 3},
            r"names node -1, but .* 0 to 2",
        ),
        ({"edge_index": torch.tensor([[0], [-1]])}, "names node -1"),
        ({"edge_index": torch.empty(2, 0, dtype=torch.long)}, "empty: it needs at least one node"),
        ({"edge_index": torch.empty(2, 0, dtype=torch.long), "num_nodes": 0}, "the graph is empty"),
        (
            {"edge_index": torch.tensor([0, 1])},
            r"shape \(2, edges\), not torch.int64 of shape \(2,\)",
        ),
        ({"edge_index": EDGES.T.repeat(2, 1)}, r"of shape \(4, 2\)"),
        ({"edge_index": EDGES.float()}, "must be an integer tensor"),
        (
            {"edge_index": EDGES, "edge_weight": torch.tensor([1.0, -2.0])},
            "edge 1 has the negative weight -2",
        ),
        (
            {"edge_index": EDGES, "edge_weight": torch.tensor([1.0, torch.nan])},
            "NaN or infinity: clean",
        ),
        ({"edge_index": EDGES, "edge_weight": torch.tensor([1.0, torch.inf])}, "NaN or infinity"),
        (
            {"edge_index": EDGES, "edge_weight": torch.ones(3)},
            r"shape \(3,\) for 2 edges: give one weight",
        ),
        ({"edge_index": EDGES, "edge_weight": torch.ones(2, 1)}, r"shape \(2, 1\) for 2 edges"),
        (
            {"edge_index": EDGES, "batch": torch.tensor([1, 0, 0])},
            "ascending .* sort the nodes by graph",
        ),
        ({"edge_index": EDGES, "batch": torch.tensor([-1, 0, 0])}, "start at 0"),
        ({"edge_index": EDGES, "batch": torch.tensor([0, 0, 1])}, "joins two graphs of the batch"),
        (
            {"edge_index": EDGES, "batch": torch.zeros(4, dtype=torch.long)},
            r"shape \(4,\) for 3 nodes",
        ),
    ],
)
def test_bad_graphs_are_refused_with_a_sentence(arguments, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        Adjacency.from_edge_index(**arguments)
    assert "\n" not in str(caught.value)
