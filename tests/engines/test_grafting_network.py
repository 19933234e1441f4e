"""Networks that grow: gradients by finite differences, both ways of growing, limits."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from reference.grafting import g, network_output

from secateur._kernels.threads import Threads
from secateur.data.costs import as_costs
from secateur.data.frames import read_table
from secateur.data.standardize import standardize_table
from secateur.engines.grafting.columns import GraftingData, GraftingParams, View
from secateur.engines.grafting.greedy import GrowingNetwork
from secateur.engines.grafting.models import NetworkWeights
from secateur.engines.limits import Limits
from secateur.losses import get_loss


def a_view(n_classes=2, n=60, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.digitize(X[:, 0] * X[:, 1], [0.0] if n_classes == 2 else [-0.3, 0.3]).astype(float)
    loss = get_loss("log_loss", n_classes=n_classes)
    weight = rng.uniform(0.5, 2.0, n)
    table = read_table(X)
    columns, costs = standardize_table(table, weight), as_costs(None).bind(table.names)
    data = GraftingData(columns, y, weight, loss, costs, Threads(1))
    return View(data, np.arange(n), GraftingParams())


def a_network(n_outputs, rng):
    return NetworkWeights(
        np.array([0, 2, 2, 4]),
        np.array([0, 0, 1, 2]),
        rng.normal(size=4),
        np.array([0, n_outputs - 1, 0]),
        rng.normal(size=3),
        rng.normal(size=n_outputs),
    )


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_forward_equals_the_naive_sum(n_outputs):
    rng = np.random.default_rng(3)
    X, network = rng.normal(size=(20, 5)), a_network(n_outputs, rng)
    cells = X[:, network.features].T.copy()
    connections = list(zip(network.feature, network.unit, network.weight, strict=True))
    expected = network_output(
        X, connections, network.hidden_bias, network.unit_output, network.output_bias
    )
    np.testing.assert_allclose(network.outputs(network.hidden_values(cells)), expected.T)
    np.testing.assert_allclose(np.tanh(0.5 * X), g(X), atol=1e-15)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradient_of_all_weights_by_finite_differences(n_classes):
    view = a_view(n_classes)
    growing = GrowingNetwork(view, GraftingParams(model="mlp"), (np.ones(5), np.ones(5)))
    growing.network = a_network(view.loss.n_outputs, np.random.default_rng(1))
    growing._cells = view.gather(growing.network.features, all_rows=True)
    growing._places = growing.network.places()
    flat = growing.network.flat()
    _, gradient = growing._loss_and_gradient(growing.network)
    for place in range(len(flat)):
        value = []
        for sign in (1.0, -1.0):
            moved = flat.copy()
            moved[place] += sign * 1e-6
            value.append(growing._loss_and_gradient(growing.network.with_flat(moved))[0])
        assert gradient[place] == pytest.approx((value[0] - value[1]) / 2e-6, abs=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradient_test_of_both_ways_to_grow_by_finite_differences(n_classes):
    view = a_view(n_classes)
    growing = GrowingNetwork(view, GraftingParams(model="mlp"), (np.ones(5), np.ones(5)))
    growing.network = a_network(view.loss.n_outputs, np.random.default_rng(1))
    growing._cells = view.gather(growing.network.features, all_rows=True)
    growing._places = growing.network.places()
    growing._predict()
    gradients = growing.gradients()
    n_outputs, n_units = view.loss.n_outputs, 3
    assert gradients.shape == (n_outputs + n_units, 5)
    network = growing.network
    for slot in range(n_outputs + n_units):
        unit = n_units if slot < n_outputs else slot - n_outputs
        output = slot if slot < n_outputs else int(network.unit_output[unit])
        for feature in range(5):
            if ((network.feature == feature) & (network.unit == unit)).any():
                continue
            grown = network.connected(feature, unit, output)
            value = []
            for weight in (1e-6, -1e-6):
                flat = grown.flat()
                flat[-1] = weight
                moved = grown.with_flat(flat)
                cells = view.gather(moved.features, all_rows=True)
                raw = moved.outputs(moved.hidden_values(cells))
                value.append(view.mean_loss(raw))
            expected = (value[0] - value[1]) / 2e-6
            assert gradients[slot, feature] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_grafts_fit_all_weights_and_lower_the_criterion(l1):
    view = a_view(n=200)
    params = GraftingParams(model="mlp", l1=l1, tol=1e-8)
    growing = GrowingNetwork(view, params, (np.ones(5), np.ones(5)))
    before = growing.value(l1)
    assert growing.graft(0, 1) > 0
    assert growing.graft(1, 0) > 0  # another input to the unit
    assert growing.network.n_units == 1
    assert growing.graft(0, 0) >= 0  # another unit
    assert growing.network.n_units == 2
    assert growing.value(l1) < before
    _, gradient = growing._loss_and_gradient(growing.network)
    n_biases = len(gradient) - 3
    assert np.abs(gradient[:n_biases]).max() < 1e-5
    w = growing.network.weight
    moving = w != 0
    slope = gradient[n_biases:] + l1 * np.sign(w)
    assert np.abs(slope[moving]).max() < 1e-5
    assert (np.abs(gradient[n_biases:][~moving]) <= l1 + 1e-5).all()


def test_only_the_newest_weight_and_the_biases_move():
    view = a_view(n=200)
    params = GraftingParams(model="mlp", l1=0.001, adjust="newest")
    growing = GrowingNetwork(view, params, (np.ones(5), np.ones(5)))
    growing.graft(0, 1)
    first = growing.network.weight[0]
    growing.graft(1, 0)
    assert growing.network.weight[0] == first
    assert growing.network.weight[1] != 0


def test_limits_close_slots():
    growing = GrowingNetwork(
        a_view(), GraftingParams(model="mlp", max_hidden=1), (np.ones(5), np.ones(5))
    )
    cost_model = as_costs([1.0, 1.0, 1.0, 1.0, 3.0]).bind("abcde")
    assert growing.is_open(Limits(cost_model)).all()
    growing.graft(0, 1)
    open_ = growing.is_open(Limits(cost_model))
    assert not open_[0].any()  # no second unit
    assert open_[1].tolist() == [True, False, True, True, True]
    assert not growing.is_open(Limits(cost_model, max_features=1)).any()
    open_ = growing.is_open(Limits(cost_model, cost_budget=2.0))
    assert open_[1].tolist() == [True, False, True, True, False]


def test_an_undone_graft_leaves_no_trace():
    growing = GrowingNetwork(a_view(), GraftingParams(model="mlp"), (np.ones(5), np.ones(5)))
    growing.graft(0, 1)
    value = growing.value(0.0)
    copy(growing).graft(0, 2)
    assert growing.value(0.0) == value
    assert growing.support().tolist() == [1]
    np.testing.assert_allclose(growing.raw, growing.network.outputs(growing._hidden))


def test_connections_at_zero_leave_room_for_other_features():
    growing = GrowingNetwork(
        a_view(), GraftingParams(model="mlp", l2=0.01), (np.ones(5), np.ones(5))
    )
    growing.graft(0, 1)
    growing.graft(1, 2)
    growing.network = replace(growing.network, weight=np.array([0.5, 0.0]))
    growing._predict()
    limits = Limits(as_costs(None).bind("abcde"), max_features=2)
    assert growing.is_open(limits)[0].all()
    growing.drop_unused()
    assert growing.network.feature.tolist() == [1]
    assert growing.is_open(limits)[1].tolist() == [True, False, True, True, True]
    growing.graft(1, 3)
    assert growing.support().tolist() == [1, 3]
    assert not growing.is_open(limits)[0, [0, 2, 4]].any()
