"""One module for each table or figure of the paper, by name."""

#: Name on the command line, and the module that has ``TITLE`` and ``run(request)``.
EXPERIMENTS: dict[str, str] = {
    "table3": "ignn_solver.experiments.table3",
    "graph-view": "ignn_solver.experiments.graph_view",
}
