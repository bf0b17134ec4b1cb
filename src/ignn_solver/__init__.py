"""Implicit graph neural networks made fast: learned, safeguarded, certified fixed-point solvers."""
