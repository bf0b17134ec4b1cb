"""What all commands have in common."""

import warnings

import pytest

from ignn_solver import InputError
from ignn_solver.cli import app

COMMANDS = ("demo", "datasets", "train", "tune", "fit-solver", "solve", "bench", "reproduce")


def test_every_command_is_known_and_listed(cli):
    listed = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert {name.replace("_", "-") for name in listed} >= set(COMMANDS)
    shown = cli("--help")
    assert shown.status == 0
    assert all(command in shown.out for command in COMMANDS)


@pytest.mark.parametrize(
    "command", [c.name or c.callback.__name__.replace("_", "-") for c in app.registered_commands]
)
def test_the_help_of_every_command_shows_an_example(cli, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "200")
    shown = cli(command, "--help")
    assert shown.status == 0
    assert f"Example: ignn-solver {command}" in shown.out
    assert not shown.err


def test_without_a_command_the_help_is_shown(cli):
    shown = cli()
    assert "Usage: ignn-solver" in shown.out + shown.err


@pytest.mark.parametrize(
    "arguments",
    [["dance"], ["train", "--speed", "9"], ["solve"], ["train", "digits", "--seed", "-1"]],
)
def test_what_cannot_be_understood_has_status_2(cli, arguments):
    shown = cli(*arguments)
    assert shown.status == 2
    assert "Traceback" not in shown.err


def test_errors_and_warnings_are_sentences(cli, monkeypatch):
    def complain(*_, **__):
        warnings.warn("the tolerance was not reached", RuntimeWarning, stacklevel=1)
        raise InputError("a thing is wrong: put it right")

    monkeypatch.setattr("ignn_solver.datasets.describe", complain)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        shown = cli("datasets")
    assert shown.status == 2
    assert shown.err.splitlines() == [
        "ignn-solver: warning: the tolerance was not reached",
        "ignn-solver: a thing is wrong: put it right",
    ]


def test_ctrl_c_has_status_130(cli, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("ignn_solver.datasets.describe", interrupted)
    shown = cli("datasets")
    assert shown.status == 130
    assert "Traceback" not in shown.err
