"""WL: Shervashidze et al., "Weisfeiler-Lehman graph kernels", JMLR 2011."""

from __future__ import annotations

from typing import Any

from .kernels import KernelSVM, import_grakel


class WL(KernelSVM):
    """The `Weisfeiler-Lehman subtree kernel <https://www.jmlr.org/papers/v12/shervashidze11a.html>`_.

    It counts the labels that two graphs have in common, at the start and after each of ``iterations``
    rounds in which a node's label becomes its own and the multiset of its neighbours'.

    Args:
        iterations: Rounds of relabelling.
        normalize: Whether a graph's kernel with itself is scaled to 1.
    """

    def __init__(self, iterations: int = 4, normalize: bool = True) -> None:
        super().__init__()
        self.iterations, self.normalize = iterations, normalize

    def kernel(self) -> Any:
        """The grakel kernel."""
        import_grakel()
        from grakel.kernels import VertexHistogram, WeisfeilerLehman

        return WeisfeilerLehman(
            n_iter=self.iterations, base_graph_kernel=VertexHistogram, normalize=self.normalize
        )

    def key(self) -> str:
        """What the kernel matrix depends on, besides the dataset."""
        return f"wl {self.iterations} {self.normalize}"
