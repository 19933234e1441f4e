"""
Rows on a Dask cluster
======================

Rows stay on the workers, and only sums travel. Sums are sums of integers, so the fit on a cluster
is the fit in one process, bit for bit. Needs ``pip install 'secateur[dask]'``.
"""

# %%
# A table of 2,000 rows, of which each of two workers gets a part.
import matplotlib.pyplot as plt
from dask.distributed import Client

from secateur import AGBMClassifier, DaskExecutor, SelectionPathDisplay, open_table
from secateur.datasets import make_wide

made = make_wide(n_rows=2000, n_features=30, n_informative=4, n_redundant=4)
selector = AGBMClassifier(penalty=[0.1, 0.03, 0.01], max_iter=20, cv=1, random_state=0)


# %%
# `Client("tcp://scheduler:8786")` is a cluster that runs. Without an address it starts processes on
# this machine.
def fit_on_workers():
    """The path of a fit on two workers."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with Client(**options) as client, DaskExecutor(client) as executor:
        table = open_table(made.X, made.y, executor=executor, random_state=0)
        return selector.fit(table).path_


# %%
# Worker processes import this file, so what starts them is below this condition.
if __name__ == "__main__":
    on_workers = fit_on_workers()
    here = selector.fit(made.X, made.y).path_
    same = [a.support.tolist() == b.support.tolist() for a, b in zip(on_workers, here, strict=True)]
    print(f"the same features in {sum(same)} of {len(same)} steps")

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.5), sharey=True, layout="constrained")
    for ax, (title, path) in zip(
        axes, {"two workers": on_workers, "one process": here}.items(), strict=True
    ):
        SelectionPathDisplay.from_path(path, ax=ax)
        ax.set_title(title)
    plt.show()
