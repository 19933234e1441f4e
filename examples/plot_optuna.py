"""
Tuning with Optuna, and trials that end early
=============================================

A selector reports the held-out score of each step of its path, so that Optuna can end trials that
fall behind the others, here by the median of the earlier ones. Needs ``pip install optuna``.
"""

# %%
# A table of 12 columns that matter among 100.
import matplotlib.pyplot as plt
import optuna

from secateur import AGBMClassifier, OptunaPruning
from secateur.datasets import make_wide

optuna.logging.set_verbosity(optuna.logging.ERROR)
problem = make_wide(800, 100, 4, 8, random_state=0)


# %%
# The objective is the best held-out score of the path, signed so that higher is better.
def objective(trial):
    """Fit once, and give the best score."""
    selector = AGBMClassifier(
        max_depth=trial.suggest_int("max_depth", 1, 5),
        learning_rate=trial.suggest_float("learning_rate", 0.02, 0.5, log=True),
        max_iter=30,
        cv=3,
        random_state=0,
        on_step=OptunaPruning(trial),
    )
    return selector.fit(problem.X, problem.y).path_.utilities.max()


study = optuna.create_study(
    direction="maximize",
    sampler=optuna.samplers.TPESampler(seed=0),
    pruner=optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=2),
)
study.optimize(objective, n_trials=10)
print({name: round(value, 3) for name, value in study.best_params.items()})
print([trial.state.name for trial in study.trials])

# %%
# The best score so far along the path of each trial; those that were ended are dashed.
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
for trial in study.trials:
    is_pruned = trial.state.name == "PRUNED"
    steps, scores = zip(*sorted(trial.intermediate_values.items()), strict=True)
    axes.plot(steps, scores, "--" if is_pruned else "-", alpha=0.5 if is_pruned else 1.0)
axes.set(xlabel="step of the path, by falling penalty", ylabel="best score so far, - log loss")
plt.show()
