import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn.aggr import AttentionalAggregation

from graph_sets import relabelled, rings_and_stars
from ignn_solver import Anderson, InputError, Picard, Status
from ignn_solver.learning.fit import fit_solver
from ignn_solver.nn.graph_classifier import GraphIGNN
from ignn_solver.nn.pooling import Pooling, check_batch


def graphs(count=12):
    dataset = rings_and_stars(count)
    return [dataset[i] for i in range(count)]


def trained_statistics(model, batch, steps=3):
    """Give the batch normalisation something else than its initial statistics."""
    for _ in range(steps):
        model(batch)
    return model.eval()


@pytest.mark.parametrize("pooling", ["sum", "mean", "attention"])
@pytest.mark.parametrize("shape", [{"layers": 1}, {"layers": 2, "hops": 2, "jumping": False}])
def test_a_graph_never_depends_on_its_batch_mates(pooling, shape):
    torch.manual_seed(0)
    members = graphs(4)
    batch = Batch.from_data_list(members)
    model = trained_statistics(GraphIGNN(4, 8, 2, kappa=0.6, pooling=pooling, **shape), batch)
    together = model.predict(batch, tol=1e-6)
    for i, graph in enumerate(members):
        alone = model.predict(Batch.from_data_list([graph]), tol=1e-6)
        torch.testing.assert_close(
            alone.probabilities[0], together.probabilities[i], atol=1e-5, rtol=0
        )
        assert alone.evals[0] == together.evals[i]
        single = model.predict(graph, tol=1e-6)
        torch.testing.assert_close(single.probabilities, alone.probabilities)


@pytest.mark.parametrize("base", ["plain", "sweep"])
def test_a_learned_solver_answers_one_graph_as_it_answers_all(base):
    torch.manual_seed(0)
    members = graphs(30)
    known, unseen = Batch.from_data_list(members[:15]), members[15:]
    model = trained_statistics(GraphIGNN(4, 8, 2, kappa=0.8, hops=1), known)
    solver = fit_solver(model, known, base=base)
    together = model.predict(Batch.from_data_list(unseen), solver=solver, tol=1e-4)
    assert together.statuses == (Status.CONVERGED,) * 15
    plain = model.predict(Batch.from_data_list(unseen), tol=1e-4)
    assert float(together.evals.double().mean()) < 0.8 * float(plain.evals.double().mean())
    alone = [model.predict(Batch.from_data_list([g]), solver=solver, tol=1e-4) for g in unseen]
    assert [int(one.evals) for one in alone] == together.evals.tolist()
    probabilities = torch.cat([one.probabilities for one in alone])
    torch.testing.assert_close(probabilities, together.probabilities, atol=1e-6, rtol=0)


def test_the_order_of_the_nodes_does_not_matter():
    torch.manual_seed(0)
    members = graphs()
    batch = Batch.from_data_list(members)
    model = trained_statistics(GraphIGNN(4, 8, 2, hops=1), batch)
    shuffled = [relabelled(graph, torch.randperm(graph.num_nodes)) for graph in members]
    torch.testing.assert_close(
        model.predict(batch, tol=1e-6).probabilities,
        model.predict(Batch.from_data_list(shuffled), tol=1e-6).probabilities,
        atol=1e-5,
        rtol=0,
    )


def test_the_scores_are_those_of_the_dense_equilibrium():
    torch.manual_seed(0)
    (graph,) = graphs(1)
    model = GraphIGNN(4, 6, 3, kappa=0.7, normalization=False, jumping=False).double().eval()
    graph.x = graph.x.double()
    dense = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
    dense[graph.edge_index[0], graph.edge_index[1]] = 1
    dense += torch.eye(graph.num_nodes, dtype=torch.float64)
    root = dense.sum(1).rsqrt()
    dense = root[:, None] * dense * root
    (conv,) = model.convs
    bias = graph.x @ conv.input.weight + conv.input.bias
    z = torch.zeros_like(bias)
    for _ in range(200):
        z = torch.relu(dense @ z @ conv.weight() + bias)
    scores = model.head(z.sum(0, keepdim=True))
    found = model.predict(graph, tol=1e-12)
    torch.testing.assert_close(found.probabilities, scores.softmax(-1), atol=1e-9, rtol=0)


def test_status_residual_and_evaluations_are_known_for_each_graph():
    torch.manual_seed(0)
    batch = Batch.from_data_list(graphs())
    model = GraphIGNN(4, 8, 2, layers=2).eval()
    good = model.predict(batch, tol=1e-4)
    assert good.statuses == (Status.CONVERGED,) * 12
    assert good.residuals.shape == (12,)
    assert float(good.residuals.max()) <= 1e-4
    poor = model.predict(batch, tol=1e-4, max_evals=2, on_failure="return")
    assert poor.statuses == (Status.MAX_EVALS,) * 12
    assert poor.evals.tolist() == [4] * 12


def test_any_solver_gives_the_same_classes():
    torch.manual_seed(0)
    batch = Batch.from_data_list(graphs())
    model = trained_statistics(GraphIGNN(4, 8, 2, layers=2), batch)
    plain = model.predict(batch, tol=1e-6)
    mixed = model.predict(batch, solver=[Anderson(), Picard()], tol=1e-6)
    torch.testing.assert_close(plain.probabilities, mixed.probabilities, atol=1e-5, rtol=0)
    with pytest.raises(InputError, match="3 solvers for 2 implicit layers"):
        model.predict(batch, solver=[Picard()] * 3)


def test_the_maps_it_gives_to_a_solver_are_those_it_solves():
    torch.manual_seed(0)
    batch = Batch.from_data_list(graphs())
    model = trained_statistics(GraphIGNN(4, 8, 2, layers=2), batch)
    prediction = model.predict(batch, tol=1e-6)
    for f, solution in zip(model.equilibrium_maps(batch), prediction.solutions, strict=True):
        assert f.adjacency.num_graphs == 12
        value = f.evaluate(solution.value).value
        assert float((value - solution.value).norm() / value.norm()) < 1e-4


@pytest.mark.parametrize("pooling", ["sum", "mean"])
def test_a_certified_class_is_that_of_the_exact_equilibrium(pooling):
    torch.manual_seed(0)
    batch = Batch.from_data_list(graphs(30))
    model = GraphIGNN(4, 8, 3, kappa=0.7, hops=1, pooling=pooling)
    model = trained_statistics(model, batch, 20)
    exact = model.double().predict(batch.clone().apply(lambda x: x.double(), "x"), tol=1e-13)
    model.float()
    shares = []
    for tol in (0.3, 1e-2, 1e-4):
        rough = model.predict(batch, tol=tol, certify=True)
        sure = rough.certified
        assert bool((rough.classes[sure] == exact.classes[sure]).all())
        shares.append(int(sure.sum()))
    assert shares[0] < shares[1] <= shares[2]
    assert shares[2] > 20
    assert model.predict(batch).certified is None


def test_what_cannot_be_certified_is_refused():
    batch = Batch.from_data_list(graphs(2))
    with pytest.raises(InputError, match="one implicit layer can be certified"):
        GraphIGNN(4, 8, 2, layers=2).predict(batch, certify=True)
    with pytest.raises(InputError, match="attention pooling cannot be certified"):
        GraphIGNN(4, 8, 2, pooling="attention").predict(batch, certify=True)
    with pytest.raises(InputError, match="2 implicit layers"):
        GraphIGNN(4, 8, 2, layers=2).equilibrium_map(batch)


def test_a_learned_solver_serves_graphs_it_has_never_seen():
    torch.manual_seed(0)
    seen, unseen = Batch.from_data_list(graphs(40)[:30]), Batch.from_data_list(graphs(40)[30:])
    model = trained_statistics(GraphIGNN(4, 8, 2, kappa=0.9, hops=1), seen)
    solver = fit_solver(model, seen)
    plain = model.predict(unseen, tol=1e-4)
    learned = model.predict(unseen, solver=solver, tol=1e-4)
    assert learned.statuses == plain.statuses
    torch.testing.assert_close(learned.probabilities, plain.probabilities, atol=1e-3, rtol=0)
    assert int(learned.evals.sum()) < int(plain.evals.sum())


def test_gradients_agree_with_finite_differences():
    torch.manual_seed(0)
    batch = Batch.from_data_list(graphs(3))
    batch.x = batch.x.double()
    model = GraphIGNN(
        4, 3, 2, kappa=0.6, normalization=False, dropout=0.0, activation="tanh", tol=1e-12
    ).double()
    labels = batch.y

    def loss():
        return torch.nn.functional.cross_entropy(model(batch), labels)

    loss().backward()
    raw = model.convs[0].weight.raw
    slope = float(raw.grad[0, 1])
    step = torch.zeros_like(raw)
    step[0, 1] = 1e-5
    values = []
    for sign in (1, -1):
        with torch.no_grad():
            raw += sign * step
        values.append(float(loss().detach()))
        with torch.no_grad():
            raw -= sign * step
    assert (values[0] - values[1]) / 2e-5 == pytest.approx(slope, rel=1e-5, abs=1e-9)


def test_attention_pooling_is_pygs():
    torch.manual_seed(0)
    x = torch.randn(9, 5)
    graph = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2, 2])
    pool = Pooling("attention", 5)
    theirs = AttentionalAggregation(pool.gate)
    torch.testing.assert_close(pool(x, graph, 3), theirs(x, graph))


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (Data(x=torch.ones(2, 4)), "needs x and edge_index"),
        (Data(x=torch.ones(2, 3), edge_index=torch.tensor([[0], [1]])), "made for 4 a node"),
        (
            Batch.from_data_list(
                [
                    Data(x=torch.ones(2, 4), edge_index=torch.tensor([[0], [1]])),
                    Data(x=torch.ones(0, 4), edge_index=torch.zeros(2, 0, dtype=torch.int64)),
                ]
            ),
            "graph 1 of the batch has no node",
        ),
    ],
)
def test_a_bad_batch_is_named(batch, message):
    with pytest.raises(InputError, match=message):
        check_batch(batch, 4)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"layers": 0}, "layers must be at least 1, not 0"),
        ({"hops": -1}, "hops must be at least 0, not -1"),
        ({"pooling": "max"}, "max"),
        ({"kappa": 1.0}, "kappa must lie strictly between 0 and 1"),
    ],
)
def test_a_model_that_cannot_be_is_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        GraphIGNN(4, 8, 2, **wrong)
