"""The explicit models against PyG's own layers and dense formulas, with the same weights."""

import pytest
import torch
from torch.nn import functional as F
from torch_geometric import nn as pyg
from torch_geometric.data import Data

from ignn_solver.baselines.acm_gcn import ACMGCN, MixingConv
from ignn_solver.baselines.appnp import APPNP
from ignn_solver.baselines.gat import GAT, AttentionConv, pattern_of
from ignn_solver.baselines.gcn import GCN
from ignn_solver.baselines.gcnii import GCNII
from ignn_solver.baselines.graph import GraphConv, adjacency_of, neighbour_mean, random_walk
from ignn_solver.baselines.gtn import GTN
from ignn_solver.baselines.jknet import JKNet
from ignn_solver.baselines.mlp import MLP
from ignn_solver.baselines.sgc import SGC

close = torch.testing.assert_close


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def copy_linear(layer, linear):
    with torch.no_grad():
        layer.weight.copy_(linear.weight.T)
        if layer.bias is not None:
            layer.bias.copy_(linear.bias)


def gcn_conv(conv: GraphConv):
    layer = pyg.GCNConv(*conv.linear.weight.shape).double()
    with torch.no_grad():
        layer.lin.weight.copy_(conv.linear.weight.T)
        layer.bias.copy_(conv.bias)
    return layer


def test_graph_conv_is_gcn_conv_with_the_same_gradients(graph, edges):
    conv = GraphConv(6, 4).double()
    torch.nn.init.normal_(conv.bias)
    layer = gcn_conv(conv)
    ours, theirs = conv(graph.x, adjacency_of(graph, torch.float64)), layer(graph.x, edges)
    close(ours, theirs)
    ours.square().sum().backward()
    theirs.square().sum().backward()
    close(conv.linear.weight.grad, layer.lin.weight.grad.T)
    close(conv.bias.grad, layer.bias.grad)


def test_gcn_is_two_gcn_convs(graph, edges):
    model = GCN(6, 5, 3).double().eval()
    first, second = map(gcn_conv, model.convs)
    close(model(graph), second(first(graph.x, edges).relu(), edges))


def test_sgc_is_sg_conv_and_the_third_power(graph, edges, dense):
    model = SGC(6, 5, 3).double().eval()
    torch.nn.init.normal_(model.conv.bias)
    layer = pyg.SGConv(6, 3, K=3).double()
    with torch.no_grad():
        layer.lin.weight.copy_(model.conv.linear.weight.T)
        layer.lin.bias.copy_(model.conv.bias)
    close(model(graph), layer(graph.x, edges))
    explicit = torch.linalg.matrix_power(dense, 3) @ graph.x @ model.conv.linear.weight
    close(model(graph), explicit + model.conv.bias)


def test_appnp_is_a_dense_power_iteration_and_pygs(graph, edges, dense):
    model = APPNP(6, 5, 3).double().eval()
    local = model.perceptron(graph.x)
    scores = local
    for _ in range(3):
        scores = 0.5 * dense @ scores + 0.5 * local
    close(model(graph), scores)
    close(model(graph), pyg.APPNP(K=3, alpha=0.5).double()(local, edges))


def test_appnp_goes_to_the_closed_form_of_personalised_pagerank(graph, dense):
    model = APPNP(6, 5, 3, iterations=200, alpha=0.2).double().eval()
    system = torch.eye(len(dense), dtype=dense.dtype) - 0.8 * dense
    close(model(graph), 0.2 * torch.linalg.solve(system, model.perceptron(graph.x)))


@pytest.mark.parametrize("mode", ["cat", "max"])
def test_jknet_joins_the_layers(graph, edges, mode):
    model = JKNet(6, 5, 3, num_layers=3, mode=mode).double().eval()
    x, layers = graph.x, []
    for conv in map(gcn_conv, model.convs):
        x = conv(x, edges).relu()
        layers.append(x)
    joined = torch.cat(layers, -1) if mode == "cat" else torch.stack(layers).amax(0)
    close(model(graph), model.head(joined))


def test_gcnii_is_gcn2_conv(graph, edges):
    model = GCNII(6, 5, 3, num_layers=4).double().eval()
    x = initial = F.relu(graph.x @ model.embed.weight + model.embed.bias)
    for number, conv in enumerate(model.convs, 1):
        layer = pyg.GCN2Conv(5, alpha=0.1, theta=0.5, layer=number).double()
        with torch.no_grad():
            layer.weight1.copy_(conv.weight)
        x = layer(x, initial, edges).relu()
    close(model(graph), model.head(x))


def gat_conv(conv: AttentionConv, concat: bool):
    heads, width = conv.source.shape
    layer = pyg.GATConv(conv.linear.weight.shape[0], width, heads, concat).double()
    with torch.no_grad():
        layer.lin.weight.copy_(conv.linear.weight.T)
        layer.att_src.copy_(conv.source[None])
        layer.att_dst.copy_(conv.target[None])
        layer.bias.copy_(conv.bias)
    return layer


@pytest.mark.parametrize("concat", [True, False])
def test_attention_conv_is_gat_conv_with_the_same_gradients(graph, edges, concat):
    conv = AttentionConv(6, 4, 3, concat).double()
    torch.nn.init.normal_(conv.bias)
    layer = gat_conv(conv, concat)
    pattern = pattern_of(adjacency_of(graph, torch.float64))
    ours, theirs = conv(graph.x, pattern), layer(graph.x, edges)
    close(ours, theirs)
    ours.square().sum().backward()
    theirs.square().sum().backward()
    close(conv.linear.weight.grad, layer.lin.weight.grad.T)
    close(conv.source.grad, layer.att_src.grad[0])
    close(conv.target.grad, layer.att_dst.grad[0])


def test_gat_has_three_heads_and_averages_the_last(graph, edges):
    model = GAT(6, 5, 3).double().eval()
    first, second = gat_conv(model.convs[0], True), gat_conv(model.convs[1], False)
    assert first.heads == second.heads == 3
    close(model(graph), second(F.elu(first(graph.x, edges)), edges))


def test_attention_survives_large_scores(graph):
    conv = AttentionConv(6, 4, 2).double()
    pattern = pattern_of(adjacency_of(graph, torch.float64))
    assert torch.isfinite(conv(1e4 * graph.x, pattern)).all()


def test_mlp_is_two_linear_layers(graph):
    model = MLP(6, 5, 3).double().eval()
    first, second = model.layers.first, model.layers.second
    hidden = (graph.x @ first.weight + first.bias).relu()
    close(model(graph), hidden @ second.weight + second.bias)


def test_random_walk_is_the_mean_over_neighbours_and_self(graph, dense):
    places = (dense > 0).double()
    mean = places / places.sum(1, keepdim=True)
    close(random_walk(adjacency_of(graph, torch.float64), graph.x), mean @ graph.x)


def test_neighbour_mean_leaves_the_node_out_unless_it_is_alone(graph, dense):
    places = (dense > 0).double().fill_diagonal_(0)
    degree = places.sum(1)
    places[degree == 0, degree == 0] = 1
    matrix, found = neighbour_mean(graph, torch.float64)
    assert (degree == 0).sum() == 1
    assert torch.equal(found, degree.long())
    close(matrix.matmul(graph.x), places / places.sum(1, keepdim=True) @ graph.x)


def test_mixing_conv_is_its_formula(graph, dense):
    conv = MixingConv(6, 4).double()
    places = (dense > 0).double()
    low_pass = places / places.sum(1, keepdim=True)
    low, high, same = conv.linear.weight.chunk(3, 1)
    eye = torch.eye(len(dense), dtype=dense.dtype)
    channels = [
        F.relu(filter_ @ graph.x @ weight)
        for filter_, weight in ((low_pass, low), (eye - low_pass, high), (eye, same))
    ]
    scores = [channel @ vector for channel, vector in zip(channels, conv.score, strict=True)]
    weights = (torch.sigmoid(torch.stack(scores, 1)) @ conv.mix / 3).softmax(1)
    expected = 3 * sum(weights[:, k, None] * channels[k] for k in range(3))
    close(conv(graph.x, adjacency_of(graph, torch.float64)), expected)


def test_mixing_high_pass_is_blind_to_what_all_nodes_share(graph):
    conv = MixingConv(6, 4).double()
    with torch.no_grad():
        conv.linear.weight[:, :4] = 0
        conv.linear.weight[:, 8:] = 0
    same = graph.x[:1].expand(14, -1).contiguous()
    out = conv(same, adjacency_of(graph, torch.float64))
    close(out, torch.zeros_like(out), rtol=0, atol=1e-12)


def test_acm_gcn_has_one_hidden_layer_by_default_and_scores_of_both_signs(graph):
    model = ACMGCN(6, 5, 3).double().eval()
    assert len(model.convs) == 2
    assert model.convs[0](graph.x, adjacency_of(graph, torch.float64)).min() >= 0
    assert model(graph).min() < 0 < model(graph).max()


def test_gtn_is_the_papers_layers_with_dense_products(graph):
    model = GTN(6, 5, 3, num_layers=3, channels=2).double().eval()
    neighbours = torch.zeros(14, 14, dtype=torch.float64)
    source, target = graph.edge_index
    neighbours[source, target] = 1
    neighbours[target, source] = 1
    neighbours.fill_diagonal_(0)
    kinds = torch.stack([torch.eye(14, dtype=torch.float64), neighbours])

    def normalised(matrix):
        return matrix / matrix.sum(1, keepdim=True)

    seen = []
    for path in model.paths:
        torch.nn.init.normal_(path.selection)
        chosen = torch.einsum("lk,kij->lij", path.selection.softmax(-1), kinds)
        paths = normalised(chosen[0] @ chosen[1])
        for one in chosen[2:]:
            paths = normalised(paths @ one)
        wide = normalised(paths + torch.eye(14, dtype=torch.float64))
        seen.append((wide @ graph.x @ model.input.weight).relu())
    hidden = (torch.cat(seen, 1) @ model.middle.weight.T + model.middle.bias).relu()
    close(model(graph), hidden @ model.head.weight.T + model.head.bias)


def test_gtn_sees_one_edge_further_than_it_has_layers():
    chain = torch.stack([torch.arange(5), torch.arange(1, 6)])
    x = torch.randn(6, 4, requires_grad=True)
    model = GTN(4, 8, 2, num_layers=2)
    model(Data(x=x, edge_index=chain))[0].sum().backward()
    assert (x.grad.abs().sum(1) > 0).tolist() == [True] * 4 + [False] * 2
