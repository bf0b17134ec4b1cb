"""What a user would pick instead for classifying graphs: one model a file.

Neural models have the interface of :class:`~ignn_solver.nn.base.GraphClassifier`; kernels and
reservoirs, which have no epochs, that of ``tasks.graph.CandidateClassifier``.
"""
