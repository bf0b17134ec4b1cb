"""No model, no dataset: solve Z = tanh(A Z W + b) for matrices of your own."""

import torch

import ignn_solver as ig

torch.manual_seed(0)
edges = torch.randint(500, (2, 2000))
adjacency = ig.Adjacency.from_edge_index(edges, num_nodes=500, undirected=True)
orthogonal = torch.linalg.qr(torch.randn(16, 16)).Q
f = ig.EquilibriumMap(
    adjacency, 0.95 * orthogonal, torch.randn(500, 16), ig.Contraction(0.95), "tanh"
)
for solver in (ig.Picard(), ig.Anderson(window=5), ig.Broyden()):
    solution = ig.solve(f, solver, tol=1e-6, on_failure="raise")
    print(f"{type(solver).__name__:9} {solution.num_evals:3} evaluations, {solution.residual:.1e}")
