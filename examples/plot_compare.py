"""
A comparison of methods
=======================

Methods choose inside the folds, and a logistic regression on their columns is scored on the rows
left out. Columns drawn at random show what selection adds at all. Of the 60 columns six matter
and six are mixtures of these.
"""

# %%
import matplotlib.pyplot as plt
import pandas as pd

from secateur import compare
from secateur.datasets import make_wide

made = make_wide(n_rows=500, n_features=60, n_informative=6, n_redundant=6)
X, y = pd.DataFrame(made.X, columns=list(made.feature_names)), made.y
found = compare(
    X,
    y,
    "grafting,f_classif,mrmr,random",
    validators="logistic",
    sizes=[1, 3, 6, 12],
    cv=3,
    random_state=0,
)
print(found)

# %%
# Score against number of features, with the standard error of the mean over the folds.
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for curve in found.curves("logistic"):
    sizes = [point.n_features for point in curve.points]
    means = [point.score.mean for point in curve.points]
    standard_errors = [point.score.standard_error for point in curve.points]
    ax.errorbar(sizes, means, standard_errors, marker="o", capsize=3, label=curve.method)
ax.set_xlabel("number of features")
ax.set_ylabel(f"held-out {found.curves('logistic')[0].points[0].score.metric}")
ax.legend()
plt.show()

# %%
# Mean ranks over the folds and sizes; differences within a standard error mean nothing.
for rank in found.ranks():
    print(f"{rank.method:10s} {rank.mean:.2f}")
