"""Every dataset by name."""

from __future__ import annotations

from .archives import GIBIBYTE
from .source import Source

_AMGCN = "https://github.com/zhumeiqiBUPT/AM-GCN/raw/master/data"
_TU = "https://www.chrsmrrs.com/graphkerneldatasets"
_OGB = "https://snap.stanford.edu/ogb/data/nodeproppred"
_DRIVE = "https://drive.usercontent.google.com/download?confirm=t&id="


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


def _tu(name: str, folder: str, figures: tuple[int, int, int, int]) -> Source:
    # The digests of TUDataset's own zips are not known for certain, so none is given.
    return Source(
        name,
        "graph",
        *figures,
        home="TUDataset (chrsmrrs.com)",
        licence="see TUDataset",
        module="tu",
        archive=f"{folder}.zip",
        url=f"{_TU}/{folder}.zip",
        folder=folder,
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
        Source(
            "corafull",
            "node",
            *(19_793, 63_421, 8_710, 70),
            home="graph2gauss (abojchevski/graph2gauss)",
            licence="MIT",
            module="attributed",
            archive="cora.npz",
            url="https://github.com/abojchevski/graph2gauss/raw/master/data/cora.npz",
            note="Splits are drawn here: the source has none.",
        ),
        Source(
            "corafull-knn",
            "node",
            *(19_793, 65_311, 19_793, 70),
            home="Carryguo/Coattention, BUPT-GAMMA/CaGCN",
            licence="not stated",
            module="coraml",
            archive="coraml-without-features.zip",
            stand_in="CoraFull's words are replaced by rows of their nearest-neighbour graph",
            note="12 published training nodes that are also test nodes are left out of training.",
        ),
        Source(
            "amazon-all",
            "node",
            *(334_863, 925_872, 334_863, 58),
            home="SSE, IGNN (SwiftieH/IGNN)",
            licence="not stated",
            module="sse",
            archive="amazon-all.zip",
            also=("amazon-all",),
            url="https://www.dropbox.com/sh/3gwr2wgh455q9pi/AAB0i6EQimVGslrqtsTIWsL0a?dl=1",
            note="The paper's table says 14,202,057 edges; the graph that SSE names has 925,872.",
        ),
        Source(
            "reddit",
            "node",
            *(232_965, 11_606_919, 602, 41),
            home="GraphSAINT (GraphSAINT/GraphSAINT)",
            licence="not stated",
            module="graphsaint",
            archive="reddit",
            also=("reddit.zip",),
            parts=(
                ("adj_full.npz", _DRIVE + "1sncK996BM5lpuDf75lDFqCiDZyErc1c2"),
                ("feats.npy", _DRIVE + "1ZsHaJ0ussP1W722krmEIp_8pwKAoi5b3"),
                ("class_map.json", _DRIVE + "1JF3Pjv9OboMNYs2aXRQGbJbc4t_nDd5u"),
                ("role.json", _DRIVE + "1nJIKd77lcAGU4j-kVNx_AIGEkveIKz3A"),
            ),
            limit=8 * GIBIBYTE,
        ),
        Source(
            "ogbn-arxiv",
            "node",
            *(169_343, 1_166_243, 128, 40),
            home="Open Graph Benchmark (snap.stanford.edu)",
            licence="ODC-BY",
            module="ogb",
            archive="arxiv.zip",
            also=("ogbn_arxiv",),
            url=f"{_OGB}/arxiv.zip",
            note="Citations are directed, as in the source.",
        ),
        Source(
            "ogbn-products",
            "node",
            *(2_449_029, 61_859_140, 100, 47),
            home="Open Graph Benchmark (snap.stanford.edu)",
            licence="Amazon licence, see OGB",
            module="ogb",
            archive="products.zip",
            also=("ogbn_products",),
            url=f"{_OGB}/products.zip",
            limit=16 * GIBIBYTE,
        ),
        Source(
            "wordnet",
            "node",
            *(117_659, 183_789, 6_914, 45),
            home="Princeton WordNet 3.0",
            licence="WordNet 3.0",
            module="wordnet",
            archive="WNdb-3.0.tar.gz",
            also=("wordnet-3.0.tar.xz",),
            url="https://wordnetcode.princeton.edu/3.0/WNdb-3.0.tar.gz",
        ),
        Source(
            "com-amazon",
            "node",
            *(334_863, 925_872, 64, 58),
            home="KONECT (konect.cc), SNAP",
            licence="see KONECT",
            module="konect",
            archive="com-amazon.tar.bz2",
            also=("download.tsv.com-amazon.tar.bz2",),
            url="http://konect.cc/files/download.tsv.com-amazon.tar.bz2",
            stand_in="the graph is real, its labels are synthetic and its features structural",
            note="For timing and convergence at scale.",
        ),
        _tu("mutag", "MUTAG", (188, 3_721, 7, 2)),
        _tu("ptc_mr", "PTC_MR", (344, 5_054, 18, 2)),
        _tu("cox2", "COX2", (467, 20_289, 11, 2)),
        _tu("proteins", "PROTEINS", (1_113, 81_044, 3, 2)),
        _tu("nci1", "NCI1", (4_110, 132_753, 37, 2)),
    )
}
