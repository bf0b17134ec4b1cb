import base64
import gzip
import json
import re
from copy import deepcopy

import pytest
from plotly.offline import get_plotlyjs

from ignn_solver import InputError
from ignn_solver.report.graph_view import graph_view
from ignn_solver.report.page import page, write_page
from ignn_solver.report.reading import read_folder
from report_results import GRAPH, write


def script(html, name):
    return re.search(rf'<script type="[a-z/]+" id="{name}">(.*?)</script>', html, re.S)[1]


def test_the_page_has_everything_in_it(results, tmp_path):
    html = write_page(results, tmp_path / "new" / "report.html").read_text(encoding="utf-8")
    assert gzip.decompress(base64.b64decode(script(html, "plotly"))).decode() == get_plotlyjs()
    # Nothing is fetched: no address anywhere outside the packed library.
    rest = html.replace(script(html, "plotly"), "")
    assert not re.search(r'(src|href)="(?!#|data:)', rest)
    assert "http" not in rest
    data = json.loads(script(html, "data"))
    assert data["graph"]["frames"]["learned"][1]["certified"] == "001"
    assert len(data["plots"]) == 3
    for section in ("headline", "graph", "plots", "tables", "sources"):
        assert f'<section id="{section}">' in html
        assert f'<a href="#{section}">' in html
    assert "2.0–3.0×" in html
    assert "ignn-solver bench all --json results/bench.json" in html
    assert "torch 2.13.0" in html
    assert "blocks:arxiv was timed while other processes used 0.7 cores" in html


def test_what_is_missing_is_left_out_with_its_command(tmp_path):
    write(tmp_path, "own", {"rows": [{"a": 1}]})
    html = page(tmp_path)
    assert '<section id="graph">' not in html
    assert '<section id="plots">' not in html
    assert "<code>ignn-solver reproduce graph-view</code>" in html
    assert html.count("not measured yet: ") == 4


def test_hostile_text_stays_text(results):
    evil = "</script><img src=x onerror=alert(1)>"
    rows = [{"dataset": evil, "solver": evil, "evaluation": 1, "ms": 1, "residual": 0.1}]
    content = {"rows": rows, "command": evil, "environment": {evil: evil, "versions": {evil: 1}}}
    (results / "figure-convergence.json").write_text(json.dumps(content))
    (results / f"{evil[2:8]}&.json").write_text(json.dumps({"stand_in": evil, "dataset": evil}))
    html = page(results)
    assert "<img" not in html
    assert html.count("</script>") == 3


def test_the_graph_view_is_checked(results):
    assert graph_view(read_folder(results))["nodes"] == 3
    (results / "graph-view.json").unlink()
    assert graph_view(read_folder(results)) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda graph: graph.pop("positions"),
        lambda graph: graph.update(positions="AAAA"),
        lambda graph: graph.update(edges="<b>!!!!!"),
        lambda graph: graph.update(frames={}),
        lambda graph: graph.update(levels=["a", "b"]),
        lambda graph: graph["frames"]["learned"][0].update(residual="1"),
        lambda graph: graph["frames"]["learned"][0].update(certified="0"),
        lambda graph: graph.update(frames=[1]),
    ],
)
def test_a_damaged_graph_view_is_one_sentence(tmp_path, damage):
    graph = deepcopy(GRAPH)
    damage(graph)
    write(tmp_path, "graph-view", graph)
    with pytest.raises(
        InputError, match=r"graph view in graph-view.json is damaged: make it again"
    ):
        page(tmp_path)
