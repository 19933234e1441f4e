"""
Learning to rank with few features
==================================

Documents of a query are sorted by a score. LambdaRank's gradients grow the trees, and the first use
of a feature is penalised. The curve shows NDCG against the number of features.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from secateur import AGBMRanker
from secateur.datasets import make_ranking

made = make_ranking(n_queries=120, n_features=30, random_state=0)
test = np.isin(made.query, np.unique(made.query)[-40:])
X, y, qid = made.X, made.y, made.query
model = AGBMRanker(random_state=0).fit(X[~test], y[~test], qid=qid[~test])
print(model.selection_)
print(f"NDCG on other queries: {model.score(X[test], y[test], qid=qid[test]):.3f}")

# %%
scored = [step for step in model.path_ if step.score is not None]
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.errorbar(
    [len(step.support) for step in scored],
    [step.score.mean for step in scored],
    [step.score.standard_error for step in scored],
    fmt="o",
    capsize=3,
)
ax.set_xlabel("number of features")
ax.set_ylabel(f"held-out {scored[0].score.metric}")
plt.show()
