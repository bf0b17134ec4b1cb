"""The generated parts of the README and the docs: every figure in them comes from ``results/``."""
