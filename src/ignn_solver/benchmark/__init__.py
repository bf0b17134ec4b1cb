"""Timing solvers against each other and against their peers: one process, everything counted."""
