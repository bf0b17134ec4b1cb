"""The public names: all there, and cheap until they are used."""

import subprocess
import sys

import pytest

import ignn_solver


@pytest.mark.parametrize("name", ignn_solver.__all__)
def test_every_public_name_is_there(name):
    assert getattr(ignn_solver, name) is not None
    assert name in dir(ignn_solver)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Magic'"):
        ignn_solver.Magic  # noqa: B018


def test_importing_the_package_and_the_command_line_loads_no_torch():
    code = "import sys, ignn_solver.cli; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
