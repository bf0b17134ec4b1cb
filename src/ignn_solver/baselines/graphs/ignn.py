"""IGNN for graphs as first published: Gu et al., "Implicit graph neural networks", NeurIPS 2020."""

from __future__ import annotations

from typing import Any

from ...nn.graph_classifier import GraphIGNN


class GraphIGNNOriginal(GraphIGNN):
    r"""The graph model of `IGNN <https://arxiv.org/abs/2009.06211>`_: three implicit layers, two linear ones.

    Each layer is :math:`Z = \text{relu}(\hat A Z W + \hat A X \Omega)` with the columns of W projected
    onto the absolute-sum ball of radius kappa; the sum of the last states goes to the head. Nothing is
    normalised and no layer is skipped.

    Args:
        in_channels: Features of a node.
        hidden_channels: Width of the node states.
        num_classes: Classes.
        kappa: Contraction factor, strictly between 0 and 1.
        layers: Implicit layers.
        dropout: Dropout before the last linear layer, in training.
        **options: Passed to :class:`IGNNConv`: ``tol``, ``max_evals``.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        num_classes: int,
        kappa: float = 0.9,
        layers: int = 3,
        dropout: float = 0.5,
        **options: Any,
    ) -> None:
        given = {"kappa": kappa, "layers": layers, "dropout": dropout, **options}
        super().__init__(
            in_channels, hidden_channels, num_classes,
            normalization=False, pooling="sum", jumping=False,
            parametrization="projection", propagate_input=True, bias=False, **given,
        )  # fmt: skip
        sizes = ("in_channels", "hidden_channels", "num_classes")
        self.config = {name: self.config[name] for name in sizes} | given
