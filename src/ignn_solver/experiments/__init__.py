"""One module for each table or figure of the paper, by name."""

#: Name on the command line, and the module that has ``TITLE``, ``DATASETS``, ``QUICK`` and ``run(request)``.
EXPERIMENTS: dict[str, str] = {
    "table3": "ignn_solver.experiments.table3",
    "figure-pareto": "ignn_solver.experiments.figure_pareto",
}
