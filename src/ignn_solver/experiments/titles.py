"""The node datasets of the tables and figures, under one title everywhere."""

from __future__ import annotations

_TITLES = {
    "citeseer": "Citeseer",
    "acm": "ACM",
    "corafull": "CoraFull",
    "blogcatalog": "BlogCatalog",
    "flickr": "Flickr",
    "digits": "Digits",
    "amazon-all": "Amazon-all",
    "reddit": "Reddit",
    "ogbn-arxiv": "ogbn-arxiv",
    "ogbn-products": "ogbn-products",
    "wordnet": "WordNet",
    "com-amazon": "com-Amazon",
    "blocks:arxiv": "arxiv",
}
#: The small graphs of the paper.
SMALL = ("citeseer", "acm", "corafull", "blogcatalog", "flickr")
#: Its large graphs.
LARGE = ("amazon-all", "reddit", "ogbn-arxiv", "ogbn-products")


def titled(*names: str) -> dict[str, str]:
    """The titles of these datasets by their names, in this order."""
    return {name: _TITLES[name] for name in names}
