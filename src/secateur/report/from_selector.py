"""`report`: from a selector and its data to a page, in one call."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from secateur.exceptions import ParameterError, some_of
from secateur.report.facts import Entry
from secateur.report.from_data import gather_evidence
from secateur.report.html import write_page


def report(
    selector: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str] = "report.html",
    *,
    title: str = "",
    random_state: Any = 0,
    **options: Any,
) -> Path:
    """Write a page about a selection: nested cross-validation, evidence and page in one call.

    Parameters
    ----------
    selector : estimator of secateur or HeldOut
        A selector is cloned and its selection repeated in folds by `held_out`. A result of
        `held_out` is shown as it is.
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
    y : array or series of shape (n_rows,)
    path : path-like, default="report.html"
        The page; an existing file is replaced.
    title : str, default=""
        The title; the name of the algorithm by default.
    random_state : int, RandomState or None, default=0
        Of the folds.
    **options
        More of `held_out`, as ``cv``, ``groups``, ``scoring``; or of `gather_evidence`, as
        ``grid_shape``.

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> import secateur
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = secateur.GraftingClassifier(l1=[0.1, 0.03])
    >>> secateur.report(selector, X, y, "tumours.html", cv=3).name  # doctest: +SKIP
    'tumours.html'
    """
    from secateur.model_selection.held_out import HeldOut, held_out  # loads scikit-learn
    from secateur.model_selection.rows import target_type_of

    shown = {name: options.pop(name) for name in ("grid_shape", "sample_limit") if name in options}
    if isinstance(selector, HeldOut):
        if options:
            raise ParameterError(
                f"A result of held_out is shown as it is. Got {some_of(sorted(options))} besides. "
                "Pass them to held_out, or give a selector."
            )
        held = selector
    else:
        held = held_out(selector, X, y, random_state=random_state, **options)
    fitted = held.selector
    known = fitted.get_params(deep=False)
    is_class = getattr(fitted, "target_type_", "regression") != "regression"  # found by the fit
    given = ("costs", "feature_groups", "keep", "categorical_features")
    evidence = gather_evidence(
        X,
        y,
        held.path,
        target_type=target_type_of(fitted) or ("classification" if is_class else "regression"),
        selection=fitted.selection_,
        fold_paths=held.fold_paths,
        all_features=held.all_features,
        all_features_model=held.all_features_model,
        **{name: known[name] for name in given if name in known},
        **shown,
    )
    name = title or held.path.algorithm
    return write_page(path, [Entry(name, held.path, fitted.selection_, evidence)])
