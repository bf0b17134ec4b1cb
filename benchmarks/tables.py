"""Write the measured tables into the README and the docs, from the JSON files under ``results/``.

python benchmarks/tables.py
"""

from __future__ import annotations

from pathlib import Path

from ignn_solver.pages.fill import refresh

if __name__ == "__main__":
    for page in refresh(Path(__file__).parents[1]):
        print(f"{page.name} updated")
