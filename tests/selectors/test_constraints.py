from __future__ import annotations

import math

import numpy as np
import pytest

from secateur.exceptions import ParameterError
from secateur.selectors.parameters import Constraint, number, one_of


@pytest.mark.parametrize("value", [0, 0.5, 1, np.float32(0.3), np.int64(1), np.float64(0.0)])
def test_numbers_in_the_range(value):
    number(0, 1, advice="").check("share", value)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, "0.5", None, True, np.True_, [0]])
def test_numbers_out_of_the_range(value):
    with pytest.raises(ParameterError, match=r"'share' must be a number >= 0 and <= 1. Got"):
        number(0, 1, advice="").check("share", value)


def test_ends_may_be_left_out():
    open_ = number(0, 1, above=True, below=True, advice="")
    open_.check("share", 1e-300)
    for end in (0, 1):
        with pytest.raises(ParameterError, match=r"> 0 and < 1"):
            open_.check("share", end)


def test_without_an_upper_end():
    number(0, advice="").check("budget", math.inf)
    with pytest.raises(ParameterError, match=r"a finite number >= 0. Got inf"):
        number(0, below=True, advice="").check("penalty", math.inf)


def test_whole_numbers_words_and_none():
    rounds = number(1, whole=True, words=("auto",), or_none=True, advice="Use 100.")
    for value in (1, np.int32(7), "auto", None):
        rounds.check("rounds", value)
    expected = "'rounds' must be an int >= 1, 'auto' or None. Got 2.0. Use 100."
    with pytest.raises(ParameterError) as caught:
        rounds.check("rounds", 2.0)
    assert str(caught.value) == expected


def test_any_whole_number():
    with pytest.raises(ParameterError, match=r"'n' must be an int. Got 'a'"):
        number(-math.inf, whole=True, advice="").check("n", "a")


def test_one_of_goes_by_type():
    choice = one_of(True, False, "auto", advice="Use 'auto'.")
    for value in (True, False, "auto", np.True_, np.str_("auto")):
        choice.check("early", value)
    for value in (1, 0, None, "Auto", [True], np.array([1, 2])):
        with pytest.raises(ParameterError, match=r"'early' must be True, False or 'auto'. Got"):
            choice.check("early", value)


def test_a_constraint_of_a_selector():
    with pytest.raises(ParameterError, match=r"'b' must be true. Got 0. Say yes."):
        Constraint(bool, "true", "Say yes.").check("b", 0)


def test_the_default_is_the_advice_where_there_is_no_other():
    rate = number(0, above=True).default(0.25)
    assert rate.value == 0.25
    with pytest.raises(ParameterError, match=r"'rate' must be a number > 0. Got -1. Use 0.25 "):
        rate.check("rate", -1)
    with pytest.raises(ParameterError, match="Say yes"):
        number(0, advice="Say yes.").default(0.25).check("rate", -1)
