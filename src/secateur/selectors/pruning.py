"""Optuna ends trials whose path of held-out scores is behind: a value for ``on_step``."""

from __future__ import annotations

from typing import Any

from secateur.exceptions import ParameterError, import_optional
from secateur.path import Step


class OptunaPruning:
    """Reports the best score so far to a trial of Optuna after each step, and ends it on request.

    Parameters
    ----------
    trial : optuna.trial.Trial
        Of a study with ``direction="maximize"``: scores are signed so that higher is better, as in
        ``path_.utilities``.
    """

    def __init__(self, trial: Any) -> None:
        self.trial = trial
        self._n_steps, self._best = 0, -float("inf")

    def __call__(self, step: Step) -> None:
        """Report a step; raises ``optuna.TrialPruned`` where the trial should end."""
        optuna = import_optional("optuna", "Pruning of trials", "optuna")
        if step.score is None:
            raise ParameterError(
                "Pruning needs a score for each step. Got a step without one, of a fit without "
                "held-out rows. Leave the penalty at 'auto', or use early_stopping=True."
            )
        self._best = max(self._best, step.score.utility)
        self.trial.report(self._best, self._n_steps)
        self._n_steps += 1
        if self.trial.should_prune():
            raise optuna.TrialPruned
