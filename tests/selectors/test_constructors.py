"""Constructors made of groups of parameters look like those that are written out."""

from __future__ import annotations

import inspect

import pytest
from contract.registry import estimator_classes

from secateur import AGBMClassifier, FeatBoostRegressor


@pytest.mark.parametrize("cls", estimator_classes())
def test_each_parameter_is_documented_in_the_order_of_the_signature(cls):
    text = inspect.cleandoc(cls.__doc__)
    section = text.partition("Parameters\n----------\n")[2].partition("\n\nAttributes\n")[0]
    documented = [line.split(" : ")[0] for line in section.splitlines() if line[0] != " "]
    assert documented == list(inspect.signature(cls).parameters)
    assert text.count("\nAttributes\n") == text.count("\nExamples\n") == 1


def test_the_signature_has_defaults_and_the_instance_values():
    assert inspect.signature(FeatBoostRegressor).parameters["evaluator"].default == "knn"
    assert AGBMClassifier(max_iter=3).max_iter == 3
    assert AGBMClassifier().max_iter == 200
    assert not hasattr(AGBMClassifier, "max_iter")


@pytest.mark.parametrize("cls", estimator_classes())
def test_a_name_that_no_parameter_has_is_refused_with_the_name_of_the_class(cls):
    with pytest.raises(TypeError, match=f"{cls.__name__} has no parameter 'no_such'.* verbose"):
        cls(no_such=1)
    with pytest.raises(ValueError, match=f"'no_such' for estimator {cls.__name__}"):
        cls().set_params(no_such=1)


def test_names_that_no_parameter_has_and_values_without_names_are_refused():
    with pytest.raises(TypeError, match="AGBMClassifier has no parameter 'executor'"):
        AGBMClassifier(executor=1)
    with pytest.raises(TypeError, match="max_rounds"):
        AGBMClassifier(max_rounds=3)
    with pytest.raises(TypeError, match=r"AGBMClassifier\(0.1\)"):
        AGBMClassifier(0.1)
