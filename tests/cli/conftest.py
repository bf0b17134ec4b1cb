"""The command line run in this process, and a small trained run to work on."""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ignn_solver.cli import main


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    status: int
    out: str
    err: str

    def is_refusal(self, *parts: str) -> bool:
        """Whether it is status 2 and exactly one line that has all these parts."""
        lines = self.err.splitlines()
        named = all(part in self.err for part in parts)
        return (
            self.status == 2 and len(lines) == 1 and lines[0].startswith("ignn-solver: ") and named
        )


@pytest.fixture
def cli(monkeypatch, capsys, tmp_path):
    """Run ``ignn-solver`` with these arguments, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["ignn-solver", *map(str, arguments)])
        capsys.readouterr()
        status = 0
        try:
            main()
        except SystemExit as stopped:
            status = stopped.code if isinstance(stopped.code, int) else 0
        return Outcome(status, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """The folder of a small trained run; tests that change it take a copy."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    with pytest.MonkeyPatch.context() as patch:
        arguments = ["chains:4", "--hidden", "8", "--epochs", "40", "--run", str(folder), "--quiet"]
        patch.setattr(sys, "argv", ["ignn-solver", "train", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
    assert stopped.value.code == 0
    return folder
