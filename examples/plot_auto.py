"""
Which method for my model?
==========================

`AutoSelector` tries several methods in outer folds, scores the model that you will use on what each
of them selects, and keeps the one that is best or, among those about as good, the smallest.
"""

# %%
import matplotlib.pyplot as plt
import pandas as pd

from secateur import AutoSelector
from secateur.datasets import make_wide

made = make_wide(n_rows=300, n_features=40, n_informative=5, n_redundant=5)
X, y = pd.DataFrame(made.X, columns=list(made.feature_names)), made.y
auto = AutoSelector(candidates="agbm,grafting", for_model="linear", random_state=0).fit(X, y)
print(auto.selection_)
for each in auto.candidates_:
    print(f"{each.method:10s} {each.n_features:5.1f} features, {each.score.mean:.3f}")

# %%
# Mean score of a linear model in the outer folds, with the standard error of the paired difference.
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for place, each in enumerate(auto.candidates_):
    ax.errorbar(each.score.mean, place, xerr=each.standard_error, fmt="o", capsize=3)
ax.set_yticks(range(len(auto.candidates_)), [each.method for each in auto.candidates_])
ax.margins(y=0.4)
ax.set_xlabel(f"held-out {auto.candidates_[0].score.metric}, lower is better")
plt.show()
