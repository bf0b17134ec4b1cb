import pytest

from ignn_solver import InputError
from ignn_solver.experiments.published import published
from ignn_solver.experiments.request import chosen, experiment
from ignn_solver.experiments.tables import Entry, Table, latex, markdown

TABLE = Table(
    "Accuracy, 100 % honest",
    {"one": "ONE_A", "two": "TWO"},
    {"a": "A", "b": "B", "c": "C"},
    {
        ("a", "one"): Entry(90.04, 1.0, 89.0, 2.0),
        ("b", "one"): Entry(90.01, 3.0),
        ("c", "one"): Entry(80.0),
        ("a", "two"): Entry(10.0, 1.0),
        ("b", "two"): Entry(published=99.0),
    },
    {"two": "made by us"},
    ["A note."],
)


def test_markdown_ranks_what_was_measured_and_only_that():
    assert markdown(TABLE).splitlines() == [
        "### Accuracy, 100 % honest",
        "",
        "| model | ONE_A | TWO† |",
        "|---|---|---|",
        "| A | **90.0 ± 1.0** (published 89.0 ± 2.0) | **10.0 ± 1.0** |",
        "| B | **90.0 ± 3.0** | - (published 99.0) |",
        "| C | <u>80.0</u> | - |",
        "",
        "† TWO is a stand-in: made by us",
        "A note.",
    ]


def test_latex_says_the_same():
    text = latex(TABLE)
    assert r"\caption{Accuracy, 100 \% honest}" in text
    assert r"model & ONE\_A & TWO$^\dagger$ \\" in text
    first = r"A & \textbf{90.0 $\pm$ 1.0} {\footnotesize (published 89.0 $\pm$ 2.0)}"
    assert first in text
    assert r"C & \underline{80.0} & -- \\" in text
    assert "TWO is a stand-in: made by us" in text
    assert text.count("{") == text.count("}")


def test_the_published_figures_are_the_papers():
    figures = published("table3")
    assert figures["mutag", "ignn-solver"] == (90.5, 1.6)
    assert figures["nci1", "wl"] == (84.5, 0.5)
    assert figures["proteins", "dcnn"] == (61.3, None)
    assert ("cox2", "gin") not in figures
    assert len(figures) == 60 - 5


def test_names_are_checked():
    assert chosen(("B", "a"), ["a", "b", "c"], "thing") == ["a", "b"]
    assert chosen((), ["a", "b"], "thing") == ["a", "b"]
    with pytest.raises(InputError, match="no thing 'd' in this experiment: choose among a, b"):
        chosen(("d",), ["a", "b"], "thing")
    with pytest.raises(InputError, match="no experiment 'table9'"):
        experiment("table9")
