"""Run the command line with ``python -m ignn_solver``."""

from .cli import main

if __name__ == "__main__":
    main()
