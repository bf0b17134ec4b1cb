"""The paper's table I: classification of the nodes of large graphs, and of what stands in for them."""

from __future__ import annotations

from .node_table import NodeTable
from .request import Report, Request
from .titles import LARGE, titled

TITLE = "Table I: classification of nodes, large graphs"
DATASETS = {
    **titled("wordnet", *LARGE, "blocks:arxiv", "com-amazon"),
    "wordnet": "WordNet (ours)",
    "blocks:arxiv": "block model",
}
#: What these take here: see the table's notes for the models that cannot do even that.
EPOCHS = {"wordnet": 40, "blocks:arxiv": 12, "com-amazon": 12}
TABLE = NodeTable("table1", TITLE, DATASETS, large=True, epochs=EPOCHS)
QUICK = {"datasets": ("wordnet",), "models": ("gcn", "sgc"), "trials": 1, "epochs": 3}


def run(request: Request) -> Report:
    """Run what is missing and write the table."""
    return TABLE.run(request)
