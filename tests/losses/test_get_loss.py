import numpy as np
import pytest

from secateur.exceptions import ParameterError
from secateur.losses import LOSS_NAMES, get_loss
from secateur.losses.losses import Huber, Logistic, Multinomial, Quantile


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_every_name_gives_a_loss_of_that_name(name):
    loss = get_loss(name, n_classes=3, quantile=0.3, delta=2.0)
    assert loss.name == name


def test_log_loss_has_one_output_for_two_classes():
    assert isinstance(get_loss("log_loss", n_classes=2), Logistic)
    loss = get_loss("log_loss", n_classes=5)
    assert isinstance(loss, Multinomial)
    assert loss.n_outputs == 5


def test_settings_arrive():
    loss = get_loss("quantile", quantile=0.3)
    assert isinstance(loss, Quantile)
    assert loss.level == loss.leaf_quantile == 0.3
    loss = get_loss("huber", delta=2.0)
    assert isinstance(loss, Huber)
    assert loss.delta == 2.0
    assert loss.leaf_quantile is None


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(ParameterError, match=r"'squared_error', 'log_loss'.*Got 'mse'\."):
        get_loss("mse")


@pytest.mark.parametrize(
    ("name", "setting"), [("log_loss", "n_classes"), ("huber", "delta"), ("quantile", "quantile")]
)
def test_a_needed_setting_is_asked_for(name, setting):
    with pytest.raises(ParameterError, match=f"'{name}' needs '{setting}'. Got None"):
        get_loss(name)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, np.nan])
def test_quantile_level_lies_between_zero_and_one(level):
    with pytest.raises(ParameterError, match="strictly between 0 and 1"):
        get_loss("quantile", quantile=level)


@pytest.mark.parametrize("delta", [0.0, -1.0, np.inf, np.nan])
def test_delta_is_positive_and_finite(delta):
    with pytest.raises(ParameterError, match="positive and finite"):
        get_loss("huber", delta=delta)


def test_one_class_is_not_enough():
    with pytest.raises(ParameterError, match=r"'n_classes' must be >= 2\. Got 1\."):
        get_loss("log_loss", n_classes=1)
