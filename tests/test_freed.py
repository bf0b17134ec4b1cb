"""Memory that was freed is used again without a fault."""

import subprocess
import sys

import pytest

_FAULTS = """
import resource, torch
from ignn_solver.freed import keep_freed
if {keep} and not keep_freed():
    print("none")
else:
    def faults():
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    layers = torch.nn.Sequential(torch.nn.Linear(40, 40), torch.nn.ReLU(), torch.nn.Dropout())
    # More than 32 MiB each: from there on the C library gives every array pages of its own.
    x = torch.ones(2**18, 40)
    for turn in range(8):
        if turn == 4:
            before = faults()
        layers(x).sum().backward()
    print(faults() - before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="page faults are counted by resource")
def test_freed_memory_is_kept_mapped():
    def faults(keep):
        code = _FAULTS.format(keep=keep)
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()

    kept = faults(True)
    if kept == "none":
        pytest.skip("the C library has no mallopt")
    assert int(kept) < int(faults(False)) / 4


def test_what_is_kept_can_be_given_back():
    code = """
import psutil, torch
from ignn_solver.freed import give_back, keep_freed
kept, process = keep_freed(), psutil.Process()
x = torch.ones(2**26)
y = torch.ones(2**20)  # what is freed below lies under what is not
del x
before = process.memory_info().rss
give_back()
print((before - process.memory_info().rss) // 2**20 if kept else "none")
"""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
    if found == "none":
        pytest.skip("the C library has no mallopt")
    assert int(found) > 200
