"""The yardstick is a graph convolutional network, whatever the layout of its features."""

import torch

from ignn_solver.benchmark.gcn import TwoLayerGCN


def test_two_layers_on_dense_and_on_sparse_features(problem):
    data, f = problem.data.clone(), problem.f
    gcn = TwoLayerGCN(f, data, 5)
    scores = gcn()
    a = f.adjacency.matrix.as_torch().to_dense()
    first, second = gcn.first, gcn.second
    hidden = torch.relu(a @ data.x @ first.lin.weight.T + first.bias)
    expected = a @ hidden @ second.lin.weight.T + second.bias
    torch.testing.assert_close(scores, expected, rtol=1e-4, atol=1e-5)
    gcn.features = data.x.to_sparse_csr()
    torch.testing.assert_close(gcn(), scores, rtol=1e-4, atol=1e-5)
