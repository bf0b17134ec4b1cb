"""The statement on every table and figure of the paper: reproduced, partly or not, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..experiments.titles import LARGE, SMALL
from ..files import read_json
from . import curves, findings
from .findings import Finding
from .table import Row, Rows, is_stand_in, markdown

GRAPHS = ("mutag", "ptc_mr", "cox2", "proteins", "nci1")


@dataclass(frozen=True)
class Claim:
    """One table or figure of the paper.

    Attributes:
        name: Its name there.
        says: What it claims, in a sentence.
        experiment: Name for ``ignn-solver reproduce`` and of the results file.
        judge: From the rows to what was found.
        expected: The datasets the paper shows; all of them must hold for the claim to be reproduced.
        only: The datasets to look at, where another claim has results in the same file.
        protocol: Of the rows that compare, where there are several.
    """

    name: str
    says: str
    experiment: str
    judge: Callable[[Rows], Finding]
    expected: tuple[str, ...]
    only: tuple[str, ...] = ()
    protocol: str | None = None


CLAIMS = (
    Claim(
        "Figure 2",
        "on large graphs IGNN-Solver is 1.5 to 8 times faster than IGNN, as accurate",
        "figure-pareto",
        findings.pareto,
        LARGE,
        only=(*LARGE, "wordnet", "com-amazon", "blocks:reddit", "blocks:arxiv", "blocks:products"),
    ),
    Claim(
        "Table I",
        "IGNN-Solver reaches its published accuracy on large graphs, the best of that table",
        "table1",
        findings.accuracy,
        LARGE,
        protocol="paper",
    ),
    Claim(
        "Figure 3",
        "on small graphs IGNN-Solver is at least 1.5 times faster than IGNN, as accurate",
        "figure-pareto",
        findings.pareto,
        SMALL,
        only=(*SMALL, "corafull-knn", "digits"),
    ),
    Claim(
        "Table II",
        "IGNN-Solver reaches its published accuracy on small graphs, the best or second of that table",
        "table2",
        findings.accuracy,
        SMALL,
        protocol="paper",
    ),
    Claim(
        "Table III",
        "IGNN-Solver reaches its published accuracy on sets of graphs, the best of that table on most",
        "table3",
        findings.accuracy,
        GRAPHS,
        protocol="ignn",
    ),
    Claim(
        "Figure 4",
        "training the solver takes about 1% of training the model",
        "figure-overhead",
        findings.overhead,
        ("citeseer", "amazon-all"),
    ),
    Claim(
        "Figure 5",
        "the solver, trained with K = 6, converges faster than plain iteration, past K too",
        "figure-convergence",
        curves.convergence,
        (*LARGE, *GRAPHS[:4]),
    ),
    Claim(
        "Figure 6",
        "a graph network predicts the weights better than NN, GRU and TCN",
        "figure-mixers",
        curves.mixers,
        (),
    ),
    Claim(
        "Figure 7",
        "every part of the loss, and the initializer, helps",
        "figure-ablation",
        curves.ablation,
        (*LARGE, *SMALL),
    ),
    Claim(
        "Figure 8",
        "with the solver, epochs of training and inference take less time",
        "figure-dynamics",
        curves.dynamics,
        ("amazon-all",),
    ),
    Claim(
        "Figure 9",
        "implicit models classify long chains, GCN and GAT do not, GTN less and less",
        "figure-chains",
        findings.chains,
        (),
    ),
)


def statements(results: Path) -> str:
    """The table of all claims, judged by the results that are there."""
    body = []
    for claim in CLAIMS:
        path = results / f"{claim.experiment}.json"
        content = read_json(path, "results") if path.exists() else None
        verdict, why = stated(claim, content)
        body.append([claim.name, claim.says, f"**{verdict}**", why])
    return markdown(["in the paper", "claim", "verdict", "what we found"], body)


def stated(claim: Claim, content: Row | None) -> tuple[str, str]:
    """The verdict on a claim, and why."""
    if content is None:
        return "not measured yet", ""
    rows = [row for row in content["rows"] if _counts(row, claim)]
    finding = claim.judge(rows) if rows else Finding({}, "")
    seen = {name.partition(",")[0] for name in finding.held}
    missing = [name for name in claim.expected if name not in seen]
    holding = [name for name, held in finding.held.items() if held]
    against = [name for name, held in finding.held.items() if not held]
    sentences = [finding.sentence] if finding.held else []
    if against and holding:
        sentences.append(f"Does not hold on {_listed(against)}.")
    if missing:
        sentences.append(f"Not measured: {_listed(missing)}.")
    if content.get("quick"):
        sentences.append("Quick settings.")
    return _verdict(bool(holding), bool(against), bool(missing)), " ".join(sentences)


def _counts(row: Row, claim: Claim) -> bool:
    if claim.protocol is not None and row["protocol"] != claim.protocol:
        return False
    return not claim.only or row["dataset"] in claim.only


def _verdict(holds: bool, fails: bool, incomplete: bool) -> str:
    if not holds:
        return "not reproduced" if fails else "not measured"
    return "partly" if fails or incomplete else "reproduced"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name + (" (stand-in)" if is_stand_in(name) else "") for name in names)
