"""The paper's table I: classification of the nodes of large graphs, and of what stands in for them."""

from __future__ import annotations

from .node_table import NodeTable
from .request import Report, Request

TITLE = "Table I: classification of nodes, large graphs"
TABLE = NodeTable(
    "table1",
    TITLE,
    {
        "wordnet": "WordNet (ours)",
        "amazon-all": "Amazon-all",
        "reddit": "Reddit",
        "ogbn-arxiv": "ogbn-arxiv",
        "ogbn-products": "ogbn-products",
        "blocks:arxiv": "block model",
        "com-amazon": "com-Amazon",
    },
    large=True,
)
DATASETS = TABLE.datasets
QUICK = {"datasets": ("wordnet",), "models": ("gcn", "sgc"), "trials": 1, "epochs": 3}


def run(request: Request) -> Report:
    """Run what is missing and write the table."""
    return TABLE.run(request)
