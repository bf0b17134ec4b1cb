"""Train an implicit graph network, learn a solver for it, and prove its predictions."""

import torch

import ignn_solver as ig

torch.manual_seed(0)
data = ig.datasets.load("digits")
model = ig.IGNN(data.num_features, 64, data.num_classes, kappa=0.9)
result = ig.fit(model, data, epochs=60)
solver = ig.fit_solver(model, data)

plain = model.predict(data, tol=1e-3)
fast = model.predict(data, solver=solver, tol=1e-3, certify=True)
print(f"validation accuracy {result.val_accuracy:.3f}")
print(f"evaluations: plain {plain.solution.num_evals}, learned {fast.solution.num_evals}")
print(f"proven predictions: {fast.certified.float().mean():.1%}")
