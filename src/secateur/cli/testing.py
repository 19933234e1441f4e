"""What chosen features are worth on the rows of another file, and what all features are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.cli.documents import score_document
from secateur.cli.ending import ended_by_interrupts
from secateur.cli.talking import Talk

if TYPE_CHECKING:
    from secateur.cli.work import Outcome
    from secateur.evaluation.judging import Measure
    from secateur.evaluation.rows import Rows
    from secateur.files.dataset import Dataset
    from secateur.files.testing import TestRows


def judge_on(
    test: TestRows, outcome: Outcome, dataset: Dataset, seed: int, talk: Talk
) -> dict[str, Any]:
    """Ask the rows of another file, once, about the chosen features and about all of them.

    Both by the same kind of model: the method's own, all features being free to the second, or a
    linear one where the method predicts nothing.
    """
    from secateur.evaluation.rows import read_rows
    from secateur.evaluation.step_judge import StepJudge

    y, weight, tasks = dataset.beside
    train = read_rows(dataset.features.X, y, task=dataset.task, sample_weight=weight, tasks=tasks)
    measure = _measure(outcome, train)
    judge = StepJudge(outcome.selector, None, train, measure, seed)
    talk.note(f"Fitting all features too, for the rows of {test.file}.")
    with talk.warned(), ended_by_interrupts():
        of_chosen = _asked(*_chosen(outcome, train, test), measure, test)
        of_all = _asked(judge.fit_all(train), test.X, measure, test)
    told = {"file": test.file, "rows": len(test.y), **of_chosen}
    return told | {"all_features": {**of_all, "model": judge.name_of_all}}


def _measure(outcome: Outcome, train: Rows) -> Measure:
    """What the scores of the path were made with."""
    from secateur.evaluation.tasks import RELATIVE, measure_of

    score = outcome.selection.score
    metric = None if score is None else score.metric
    asked = None if metric is None or metric.startswith(RELATIVE) else metric
    return measure_of(asked, train, metric)


def _asked(model: Any, X: Any, measure: Measure, test: TestRows) -> dict[str, Any]:
    from secateur.evaluation.tasks import TaskModel

    asked = model if test.tasks is None else TaskModel(model, test.tasks)
    verdict = measure.judge(asked, X, test.y, np.ones(len(test.y)))
    return score_document(measure.score([verdict])) or {}


def _chosen(outcome: Outcome, train: Rows, test: TestRows) -> tuple[Any, Any]:
    """What predicts with the chosen features, and the columns that it wants."""
    from secateur._data.frames import select_columns
    from secateur.evaluation.validators import linear_model

    if hasattr(outcome.selector, "predict"):
        return outcome.selector, test.X
    support = outcome.selection.support
    model = train.fit(linear_model(train.task, is_sparse=train.is_sparse), support)
    return model, select_columns(test.X, support)
