"""Which edges matter? Differentiate a prediction by the edge weights, through the equilibrium."""

import torch

import ignn_solver as ig

torch.manual_seed(0)
data = ig.datasets.load("digits")
model = ig.IGNN(data.num_features, 32, data.num_classes, dropout=0.0)
ig.fit(model, data, epochs=30)
weight = torch.ones(data.edge_index.shape[1], requires_grad=True)
z = model.conv(data.x, data.edge_index, weight)
node = int(data.test_mask.nonzero()[0])
model.head(z)[node].max().backward()
strongest = weight.grad.abs().topk(3).indices
for source, target in data.edge_index[:, strongest].T.tolist():
    print(f"the score of node {node} depends on the edge {source} -> {target}")
