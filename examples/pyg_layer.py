"""Use the implicit layer inside a PyTorch Geometric model of your own."""

import torch
from torch import nn
from torch_geometric.nn import GCNConv

import ignn_solver as ig


class Network(nn.Module):
    """One explicit layer, one implicit layer, a linear head."""

    def __init__(self, in_channels: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.first = GCNConv(in_channels, hidden)
        self.implicit = ig.IGNNConv(hidden, hidden, kappa=0.8)
        self.head = nn.Linear(hidden, classes)

    def forward(self, data: object) -> torch.Tensor:
        """Scores of each class for each node."""
        x = self.first(data.x, data.edge_index).relu()
        return self.head(self.implicit(x, data.edge_index))


torch.manual_seed(0)
data = ig.datasets.load("digits")
network = Network(data.num_features, 32, data.num_classes)
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for _ in range(30):
    optimizer.zero_grad()
    scores = network(data)
    loss = nn.functional.cross_entropy(scores[data.train_mask], data.y[data.train_mask])
    loss.backward()
    optimizer.step()
accuracy = (scores.argmax(-1) == data.y)[data.val_mask].float().mean()
print(f"validation accuracy {accuracy:.3f}, {network.implicit.last_solution.num_evals} evaluations")
