"""What every classifier has in common, of nodes or of graphs, ours and the baselines alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from ..errors import InputError

if TYPE_CHECKING:
    from torch_geometric.data import Batch, Data


class Classifier(nn.Module):
    """A model that gives nodes, or graphs, a score for each class.

    Subclasses take ``(in_channels, hidden_channels, num_classes, **options)``, pass all of it to
    ``super().__init__`` so that a checkpoint can rebuild them, and define ``forward``.

    Raises:
        InputError: For a size or a number of layers below 1, or a dropout outside [0, 1).

    Attributes:
        config: The arguments the model was made with.
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, num_classes: int, **options: Any
    ) -> None:
        super().__init__()
        sizes = (in_channels, hidden_channels, num_classes)
        if not all(isinstance(size, int) and size >= 1 for size in sizes):
            raise InputError(
                "a model needs at least one feature, hidden channel and class, in whole numbers, not "
                f"{in_channels!r}, {hidden_channels!r} and {num_classes!r}"
            )
        for name in ("dropout", "input_dropout"):
            share = options.get(name)
            if share is not None and not 0 <= share < 1:
                raise InputError(f"{name} must be at least 0 and below 1, not {share!r}")
        for name in ("layers", "num_layers"):
            count = options.get(name)
            if count is not None and count < 1:
                raise InputError(f"{name} must be at least 1, not {count!r}")
        self.in_channels = in_channels
        self.hidden_channels = hidden_channels
        self.num_classes = num_classes
        self.config: dict[str, Any] = {
            "in_channels": in_channels,
            "hidden_channels": hidden_channels,
            "num_classes": num_classes,
            **options,
        }

    def evaluations(self) -> tuple[int, int]:
        """Evaluations of the equilibrium map in the last forward and backward pass; 0 if explicit."""
        return 0, 0

    @property
    def num_parameters(self) -> int:
        """How many numbers are learnt."""
        return sum(parameter.numel() for parameter in self.parameters())


class NodeClassifier(Classifier):
    """A model that gives every node of a graph a score for each class."""

    def forward(self, data: Data) -> Tensor:
        """The score of each class for each node, ``n x num_classes``."""
        raise TypeError(f"{type(self).__name__} does not define forward")


class GraphClassifier(Classifier):
    """A model that gives every graph of a batch a score for each class.

    A batch is a PyG ``Batch``: its graphs share no edge, and no graph's scores depend on its
    batch-mates once the model is in evaluation mode.
    """

    def forward(self, batch: Batch) -> Tensor:
        """The score of each class for each graph, ``num_graphs x num_classes``."""
        raise TypeError(f"{type(self).__name__} does not define forward")
