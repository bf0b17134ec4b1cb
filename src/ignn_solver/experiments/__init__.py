"""One module for each table or figure of the paper, by name."""

#: Name on the command line, and the module that has ``TITLE``, ``DATASETS``, ``QUICK`` and ``run(request)``.
EXPERIMENTS: dict[str, str] = {
    "table1": "ignn_solver.experiments.table1",
    "table2": "ignn_solver.experiments.table2",
    "table3": "ignn_solver.experiments.table3",
    "figure-pareto": "ignn_solver.experiments.figure_pareto",
    "figure-overhead": "ignn_solver.experiments.figure_overhead",
    "figure-convergence": "ignn_solver.experiments.figure_convergence",
    "figure-mixers": "ignn_solver.experiments.figure_mixers",
    "figure-ablation": "ignn_solver.experiments.figure_ablation",
    "figure-dynamics": "ignn_solver.experiments.figure_dynamics",
    "figure-chains": "ignn_solver.experiments.figure_chains",
    "graph-view": "ignn_solver.experiments.graph_view",
}
