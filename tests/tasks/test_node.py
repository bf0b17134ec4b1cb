"""Training classifiers of nodes: what is learnt, what is chosen, and what it costs."""

import copy

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from ignn_solver import IGNN, Anderson, InputError, accuracy, datasets, fit, load_model
from ignn_solver.baselines.gcn import GCN
from ignn_solver.nn.base import NodeClassifier
from ignn_solver.recipe import load_recipe


@pytest.fixture(scope="module")
def data():
    return datasets.load("blocks", nodes=100, average_degree=8.0)


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


def new(kind, data, **options) -> NodeClassifier:
    torch.manual_seed(0)
    return kind(data.num_features, 8, data.num_classes, **options)


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[n], other[n]) for n in one)


def copied(model: NodeClassifier) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def test_digits_are_learnt_in_a_few_epochs(digits):
    model = IGNN(64, 32, 10)
    assert accuracy(model, digits, "test") < 0.3
    result = fit(model, digits, epochs=10, lr=0.02)
    assert result.val_accuracy > 0.7
    assert accuracy(model, digits, "test") > 0.7
    # Nothing but the solve's start differs from the epoch that was kept.
    assert accuracy(model, digits, "val") == pytest.approx(result.val_accuracy, abs=0.01)


def test_chains_are_learnt_where_two_layers_see_too_little():
    chains = datasets.load("chains:10")
    recipe = load_recipe("chains:10")
    training = {**recipe.training, "epochs": 75}
    width, dropout = recipe.model["hidden_channels"], recipe.model["dropout"]
    torch.manual_seed(0)
    implicit = IGNN(chains.num_features, num_classes=2, **recipe.model)
    explicit = GCN(chains.num_features, width, 2, num_layers=2, dropout=dropout)
    fit(implicit, chains, **training)
    fit(explicit, chains, **training)
    assert accuracy(implicit, chains, "test") > 0.95
    # Three nodes in ten are within two hops of their chain's first one: 0.3 + 0.7 / 2 is in reach.
    assert accuracy(explicit, chains, "test") < 0.7
    far = chains.test_mask & (torch.arange(chains.num_nodes) % 10 > 2)
    chance = float((chains.y[far] == 0).double().mean())
    with torch.no_grad():
        right = float((explicit(chains)[far].argmax(-1) == chains.y[far]).double().mean())
    assert right == pytest.approx(0.5, abs=abs(chance - 0.5) + 0.1)


def test_patience_is_counted_from_the_best_epoch(data):
    result = fit(new(GCN, data), data, lr=0.0, epochs=50, patience=3)
    assert (result.best_epoch, result.epochs) == (0, 4)
    result = fit(new(GCN, data), data, lr=0.0, epochs=2, patience=3)
    assert result.epochs == 2


def test_the_model_ends_with_the_weights_of_its_best_validation_epoch(data):
    model = new(IGNN, data)
    seen = []
    result = fit(
        model, data, lr=0.2, epochs=15, on_epoch=lambda epoch, entry: seen.append(copied(model))
    )
    order = [(entry["val_accuracy"], -entry["val_loss"]) for entry in result.history]
    assert result.best_epoch == order.index(max(order))
    assert result.best_epoch != result.epochs - 1
    assert same(model.state_dict(), seen[result.best_epoch])
    assert (result.val_accuracy, -result.val_loss) == max(order)
    assert not model.training


def test_the_test_nodes_decide_nothing(data):
    states = []
    for change in ("none", "permuted", "gone"):
        changed = copy.deepcopy(data)
        if change == "permuted":
            y = changed.y[changed.test_mask]
            changed.y[changed.test_mask] = (y + 1) % data.num_classes
        elif change == "gone":
            del changed.test_mask
        model = new(IGNN, data)
        result = fit(model, changed, epochs=8, lr=0.05)
        assert not any("test" in key for key in result.history[0])
        states.append(copied(model))
    assert same(states[0], states[1])
    assert same(states[0], states[2])


def test_a_seed_gives_the_same_training_and_another_seed_another(data):
    states = []
    for seed in (3, 3, 4):
        model = new(IGNN, data)
        torch.rand(seed)  # whatever was drawn before does not matter
        fit(model, data, epochs=5, seed=seed)
        states.append(copied(model))
    assert same(states[0], states[1])
    assert not same(states[0], states[2])


def test_warm_starts_save_evaluations_and_change_no_result(digits):
    results = {}
    for warm in (True, False):
        model = new(IGNN, digits, dropout=0.0)
        results[warm] = fit(model, digits, epochs=12, warm_start=warm)
    for direction in ("forward_evals", "backward_evals"):
        spent = {w: sum(e[direction] for e in r.history[2:]) for w, r in results.items()}
        assert spent[True] < 0.9 * spent[False]
    warm, cold = results[True], results[False]
    assert warm.val_accuracy == pytest.approx(cold.val_accuracy, abs=0.02)
    assert warm.val_loss == pytest.approx(cold.val_loss, rel=0.02)


def test_the_losses_are_what_they_are_called(data):
    scores = new(GCN, data, dropout=0.0)(data)[data.train_mask].detach()
    y = data.y[data.train_mask]
    right = scores.gather(1, y[:, None])[:, 0]
    expected = {"ce": float((scores.logsumexp(1) - right).mean())}
    signs = 1 - 2 * F.one_hot(y, data.num_classes)
    expected["bce"] = float((1 + (signs * scores).exp()).log().mean())
    for loss, value in expected.items():
        model = new(GCN, data, dropout=0.0)
        result = fit(model, data, epochs=20, loss=loss)
        assert result.history[0]["loss"] == pytest.approx(value, rel=1e-5)
        assert result.history[-1]["loss"] < 0.9 * value


class Regularised(GCN):
    def auxiliary_loss(self) -> Tensor:
        return 7.0 + 1e6 * (self.convs[1].linear.weight ** 2).sum()


def test_a_models_own_loss_is_added(data):
    plain = fit(new(GCN, data, dropout=0.0), data, epochs=1)
    model = new(Regularised, data, dropout=0.0)
    weight = model.convs[1].linear.weight.detach().clone()
    extra = 7.0 + 1e6 * float((weight**2).sum())
    result = fit(model, data, epochs=30, lr=0.05)
    difference = result.history[0]["loss"] - plain.history[0]["loss"]
    assert difference == pytest.approx(extra, rel=1e-5)
    # It is minimised too.
    assert result.history[-1]["loss"] < 0.1 * result.history[0]["loss"]


def test_every_epoch_is_reported(data):
    seen = []
    result = fit(new(IGNN, data), data, epochs=4, on_epoch=lambda *args: seen.append(args))
    assert [epoch for epoch, _ in seen] == [0, 1, 2, 3]
    assert [entry for _, entry in seen] == result.history
    for entry in result.history:
        assert entry["forward_evals"] >= 1
        assert entry["backward_evals"] >= 1
        assert 0 < entry["train_seconds"] < entry["seconds"]
    assert result.seconds == pytest.approx(sum(entry["seconds"] for entry in result.history))
    explicit = fit(new(GCN, data), data, epochs=1)
    assert explicit.history[0]["forward_evals"] == 0


def test_progress_is_shown_when_asked_for(data, capsys):
    fit(new(GCN, data), data, epochs=2, progress=True)
    shown = capsys.readouterr()
    assert "2/2" in shown.err
    assert "evaluations 0+0" in " ".join(shown.err.split())
    assert not shown.out
    fit(new(GCN, data), data, epochs=2)
    assert not capsys.readouterr().err


def test_alternating_learns_the_same_and_leaves_no_solver_behind(digits):
    results, solvers = {}, []
    for solver in (None, "alternating"):
        model = new(IGNN, digits, dropout=0.0)
        results[solver] = fit(
            model,
            digits,
            epochs=40,
            solver=solver,
            on_epoch=lambda epoch, entry, conv=model.conv: solvers.append(
                (type(conv.solver).__name__, conv.solver is conv.backward_solver)
            ),
        )
        assert model.conv.solver is None
        assert model.conv.backward_solver is None
        assert model.warm_start is None
    plain, learned = results[None], results["alternating"]
    # Rounding sends the two trainings different ways; what they reach is alike.
    assert learned.val_accuracy == pytest.approx(plain.val_accuracy, abs=0.03)
    assert learned.val_accuracy > 0.85
    assert solvers == [("NoneType", True)] * 43 + [("Following", True)] * 37


def test_the_models_own_solvers_are_used_and_stay(data):
    forward, backward = Anderson(), Anderson(window=3)
    model = new(IGNN, data, dropout=0.0)
    model.conv.solver, model.conv.backward_solver = forward, backward
    fit(model, data, epochs=7, solver="alternating")
    assert model.conv.solver is forward
    assert model.conv.backward_solver is backward

    def stop(epoch, entry):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(model, data, epochs=7, solver="alternating", on_epoch=stop)
    assert model.conv.solver is forward
    assert model.warm_start is None


def test_a_diverged_training_says_so_and_keeps_the_last_good_weights(data, tmp_path):
    model = new(GCN, data, dropout=0.0)
    seen = []

    def spoil(epoch, entry):
        seen.append(copied(model))
        if epoch == 2:
            with torch.no_grad():
                model.convs[0].linear.weight.fill_(torch.nan)

    with pytest.raises(InputError, match=r"diverged: the loss of epoch 4 is nan; lower .*\(0.01\)"):
        fit(model, data, epochs=10, run=tmp_path, on_epoch=spoil)
    kept = load_model(tmp_path).state_dict()
    assert any(same(kept, state) for state in seen)
    resumed = new(GCN, data, dropout=0.0)
    assert fit(resumed, data, epochs=3, run=tmp_path, resume=True).epochs == 3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1, not 0"),
        ({"epochs": 1.5}, "epochs must be a whole number"),
        ({"patience": 0}, "patience must be a whole number of at least 1"),
        ({"lr": -1.0}, "lr must be a number from 0 to 1e[+]06, not -1.0"),
        ({"lr": float("nan")}, "lr must be a number"),
        ({"lr": "fast"}, "lr must be a number .*, not 'fast'"),
        ({"weight_decay": float("inf")}, "weight_decay must be a number"),
        ({"loss": "mse"}, "unknown loss 'mse': choose"),
        ({"solver": "picard"}, "unknown solver 'picard' for training: say \"alternating\""),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_written(data, tmp_path, options, sentence):
    with pytest.raises(InputError, match=sentence):
        fit(new(IGNN, data), data, run=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_an_explicit_model_has_nothing_to_alternate_with(data):
    with pytest.raises(InputError, match="GCN has no equilibrium to solve for"):
        fit(new(GCN, data), data, solver="alternating")


def test_accuracy_counts_the_split_only(data):
    class Oracle(NodeClassifier):
        def forward(self, data):
            wrong = data.train_mask.clone()
            wrong[data.val_mask.nonzero()[0]] = True
            return F.one_hot((data.y + wrong) % 5, 5).float()

    oracle = new(Oracle, data)
    assert accuracy(oracle, data, "test") == 1.0
    assert accuracy(oracle, data, "train") == 0.0
    assert accuracy(oracle, data, "val") == pytest.approx(1 - 1 / int(data.val_mask.sum()))
    with pytest.raises(InputError, match="no other_mask"):
        accuracy(oracle, data, "other")
