"""The paper's table II: classification of the nodes of five small graphs."""

from __future__ import annotations

from .node_table import NodeTable
from .request import Report, Request
from .titles import SMALL, titled

TITLE = "Table II: classification of nodes, small graphs"
DATASETS = titled(*SMALL)
TABLE = NodeTable("table2", TITLE, DATASETS, large=False)
QUICK = {
    "datasets": ("citeseer",),
    "models": ("gcn", "sgc", "appnp", "learned"),
    "trials": 1,
    "epochs": 20,
}


def run(request: Request) -> Report:
    """Run what is missing and write the table."""
    return TABLE.run(request)
