"""Selectors in Optuna, MLflow and scikit-learn's routing of metadata."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import secateur
from secateur.exceptions import ParameterError

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 5))
y = (X[:, 1] + X[:, 3] > 0).astype(int)


def test_optuna_ends_trials_that_fall_behind():
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    n_steps = []

    def objective(trial):
        target = y if trial.number == 0 else rng.permutation(y)  # later trials have no signal
        pruning = secateur.OptunaPruning(trial)
        selector = secateur.AGBMClassifier(max_iter=10, cv=3, random_state=0, on_step=pruning)
        try:
            return selector.fit(X, target).path_.utilities.max()
        finally:
            n_steps.append(pruning._n_steps)

    pruner = optuna.pruners.MedianPruner(n_startup_trials=1, n_warmup_steps=1)
    study = optuna.create_study(direction="maximize", pruner=pruner)
    study.optimize(objective, n_trials=3)
    states = [trial.state.name for trial in study.trials]
    assert states == ["COMPLETE", "PRUNED", "PRUNED"]
    assert max(n_steps[1:]) < n_steps[0]
    reported = list(study.trials[0].intermediate_values.values())
    assert reported == sorted(reported)
    assert reported[-1] == study.best_value


def test_pruning_needs_scores():
    pytest.importorskip("optuna")
    pruning = secateur.OptunaPruning(trial=None)
    selector = secateur.AGBMClassifier(penalty=0.1, max_iter=3, on_step=pruning)
    with pytest.raises(ParameterError, match="needs a score for each step"):
        selector.fit(X, y)


@pytest.mark.slow  # MLflow makes a data base
def test_autolog_of_mlflow_logs_pipelines_and_does_not_break_selectors(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/runs.db")
    monkeypatch.chdir(tmp_path)
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("mlflow.sklearn")
    plain = secateur.AGBMClassifier(penalty=0.05, max_iter=5).fit(X, y)
    mlflow.sklearn.autolog(log_models=False, silent=True)
    try:
        with mlflow.start_run() as run:
            pipeline = make_pipeline(
                secateur.AGBMClassifier(penalty=0.05, max_iter=5), LogisticRegression()
            ).fit(X, y)
            mlflow.log_dict(json.loads(pipeline[0].path_.to_json()), "path.json")
    finally:
        mlflow.sklearn.autolog(disable=True)
    np.testing.assert_array_equal(pipeline[0].support_, plain.support_)
    logged = mlflow.get_run(run.info.run_id).data.params
    assert logged["agbmclassifier__penalty"] == "0.05"


def test_metadata_is_routed_through_a_search_to_fit_and_score():
    weight = np.where(X[:, 0] > 0, 1.0, 5.0)
    with sklearn.config_context(enable_metadata_routing=True):
        selector = secateur.AGBMClassifier(penalty=0.05, max_iter=3)
        selector.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(selector, {"max_depth": [1, 2]}, cv=2)
        search.fit(X, y, sample_weight=weight)
    alone = secateur.AGBMClassifier(penalty=0.05, max_iter=3, **search.best_params_)
    alone.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(search.predict_proba(X), alone.predict_proba(X))
    unweighted = secateur.AGBMClassifier(penalty=0.05, max_iter=3, **search.best_params_).fit(X, y)
    assert (search.predict_proba(X) != unweighted.predict_proba(X)).any()
