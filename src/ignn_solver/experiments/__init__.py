"""One module for each table or figure of the paper, by name."""

#: Name on the command line, and the module that has ``TITLE`` and ``run(request)``.
EXPERIMENTS: dict[str, str] = {
    "table1": "ignn_solver.experiments.table1",
    "table2": "ignn_solver.experiments.table2",
    "table3": "ignn_solver.experiments.table3",
}
