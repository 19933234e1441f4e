import pytest

from secateur.exceptions import ParameterError
from secateur.losses import Huber, Logistic, Multinomial, Quantile, get_loss

NAMES = ("squared_error", "log_loss", "absolute_error", "huber", "poisson", "quantile")


@pytest.mark.parametrize("name", NAMES)
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


def test_the_quantile_loss_asks_for_its_level():
    with pytest.raises(ParameterError, match="'quantile' needs 'quantile'"):
        get_loss("quantile")
