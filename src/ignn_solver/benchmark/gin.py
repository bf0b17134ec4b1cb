"""The yardstick for graphs: the forward pass of a graph isomorphism network in PyG."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from ..baselines.graphs.gin import GraphGIN
from ..nn.explicit import Hop, neighbours

if TYPE_CHECKING:
    from torch_geometric.data import Batch


class PyGGIN(nn.Module):
    """A graph isomorphism network out of PyG's own parts, with the weights of a model of ours.

    It is fed in the layout that is fastest there, a CSR adjacency, made beforehand.

    Args:
        model: The network whose weights it has.
        batches: The batches it will see.
    """

    def __init__(self, model: GraphGIN, batches: list[Batch]) -> None:
        super().__init__()
        from torch_geometric.nn import GINConv

        hops = cast(list[Hop], list(model.layers))
        self.convs = nn.ModuleList(GINConv(copy.deepcopy(hop.mlp)) for hop in hops)
        for conv, hop in zip(self.convs, hops, strict=True):
            # A GINConv draws the weights of what it is given anew.
            cast(GINConv, conv).nn.load_state_dict(hop.mlp.state_dict())
        self.norms = nn.ModuleList(hop.norm for hop in hops)
        self.heads = model.readout.heads
        self.batches = [
            (batch, neighbours(batch.edge_index, batch.num_nodes).as_torch()) for batch in batches
        ]
        self.eval()

    @torch.no_grad()
    def forward(self) -> Tensor:
        """The score of each class for each graph of all batches."""
        from torch_geometric.nn import global_add_pool

        found = []
        for batch, adjacency in self.batches:
            x = batch.x
            scores = self.heads[0](global_add_pool(x, batch.batch, batch.num_graphs))
            for conv, norm, head in zip(self.convs, self.norms, self.heads[1:], strict=True):
                x = norm(conv(x, adjacency)).relu()
                scores += head(global_add_pool(x, batch.batch, batch.num_graphs))
            found.append(scores)
        return torch.cat(found)
