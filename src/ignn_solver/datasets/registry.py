"""Every dataset by name."""

from __future__ import annotations

from .source import Source

_AMGCN = "https://github.com/zhumeiqiBUPT/AM-GCN/raw/master/data"


def _amgcn(
    name: str, archive: str, size: int, sha256: str, figures: tuple[int, int, int, int]
) -> Source:
    return Source(
        name,
        "node",
        *figures,
        home="AM-GCN (zhumeiqiBUPT/AM-GCN)",
        licence="MIT",
        module="amgcn",
        archive=archive,
        url=f"{_AMGCN}/{archive}",
        sha256=sha256,
        size=size,
        folder=archive.removesuffix(".zip"),
    )


SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        _amgcn(
            "citeseer",
            "citeseer.zip",
            767_028,
            "6c9b798b2e659fd28a59fc60b667cc8650be00171712b5b0c64eddee48e112c7",
            (3_327, 4_732, 3_703, 6),
        ),
        _amgcn(
            "acm",
            "acm.zip",
            649_379,
            "99166d12818748c33ebfe752e6f03ada78b3be3465e419141ea78d65bdccc3f4",
            (3_025, 13_128, 1_870, 3),
        ),
        _amgcn(
            "blogcatalog",
            "BlogCatalog.zip",
            2_106_860,
            "200e37cb382ba1f75462978622cafd3f75ee69da34250b932e0c26215965dbd2",
            (5_196, 171_743, 8_189, 6),
        ),
        _amgcn(
            "flickr",
            "flickr.zip",
            2_469_404,
            "3d5bf9dc20144ec079daac0c402ffcbb853c3f56f0cd70f429c628eb9c0ff18d",
            (7_575, 239_738, 12_047, 9),
        ),
    )
}
