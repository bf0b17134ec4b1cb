"""PK: Neumann et al., "Propagation kernels: efficient graph kernels from propagated information", 2016."""

from __future__ import annotations

from typing import Any

from .kernels import KernelSVM, import_grakel


class PK(KernelSVM):
    """The `propagation kernel <https://doi.org/10.1007/s10994-015-5517-9>`_ of diffused label distributions.

    Each node starts with its label as a distribution, which random walks diffuse; at every step nodes are
    put into bins by a locality-sensitive hash of their distribution, and common bins are counted.

    Args:
        steps: Steps of diffusion.
        width: Width of a bin.
        normalize: Whether a graph's kernel with itself is scaled to 1.
        seed: Draws the hash functions.
    """

    def __init__(
        self, steps: int = 4, width: float = 0.1, normalize: bool = True, seed: int = 0
    ) -> None:
        super().__init__()
        self.steps, self.width, self.normalize, self.seed = steps, width, normalize, seed

    def kernel(self) -> Any:
        """The grakel kernel."""
        import_grakel()
        from grakel.kernels import Propagation

        # grakel counts the labels themselves as the first of t_max rounds.
        return Propagation(
            t_max=self.steps + 1,
            w=self.width,
            M="TV",
            normalize=self.normalize,
            random_state=self.seed,
        )

    def key(self) -> str:
        """What the kernel matrix depends on, besides the dataset."""
        return f"pk {self.steps} {self.width} {self.normalize} {self.seed}"
