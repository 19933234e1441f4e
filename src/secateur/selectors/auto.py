"""`AutoSelector`: several methods on one table, and the one that serves the user's model best."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from secateur._kernels.threads import Threads
from secateur.data.table import Fold
from secateur.data.target import guess_target_type
from secateur.engines.path_search import PathSearch
from secateur.exceptions import ParameterError
from secateur.model_selection.candidates import NAMES, comparison_sentence
from secateur.model_selection.encoding import AsNumbers, on_numbers
from secateur.model_selection.folds import FEW_ROWS, draw_folds, group_numbers, hold_out, is_drawn
from secateur.model_selection.methods import read_methods, tries_methods
from secateur.model_selection.rows import (
    Rows,
    check_target_type,
    read_metric,
    read_rows,
    with_threads,
)
from secateur.model_selection.trials import ComparisonContext
from secateur.model_selection.validators import read_validators
from secateur.path import Selection, SelectionPath
from secateur.path.cutting import CuttingRule
from secateur.path.step import count_of
from secateur.selectors.auto_search import AutoSearch
from secateur.selectors.base import warn_caller
from secateur.selectors.inputs import FitInput, read_problem
from secateur.selectors.parameters import Constraint, estimator_or, one_of, with_constructor
from secateur.selectors.prediction import PredictsClasses, ReducedModel, StepPredictor, delegated
from secateur.selectors.progress import Progress
from secateur.typing import AnyArray

OUTER_FOLDS = 3
MAX_COMPARED = 20_000  # rows on which methods are compared
# FeatBoost fits a model for each candidate feature: only on small tables by default.
SMALL_ROWS, SMALL_COLUMNS = 2_000, 500
CHEAP_FIRST = ("agbm", "grafting", "featboost", "fg")
MODELS = {"trees": "boosted trees", "linear": "a linear model", "knn": "nearest neighbours"}
# Parameters that candidates get where they are given and the candidate has them.
PASSED = (
    *("cut", "cv", "costs", "feature_groups", "keep", "max_features", "cost_budget"),
    *("categorical_features", "random_state", "n_jobs"),
)


@dataclass(frozen=True, slots=True, eq=False)
class AutoInput(FitInput):
    """The input of a fit with the search for it."""

    search: AutoSearch = field(kw_only=True)


def default_candidates(n_rows: int, n_columns: int) -> list[str]:
    """The methods that are tried on a table, the quick ones first."""
    is_small = n_rows <= SMALL_ROWS and n_columns <= SMALL_COLUMNS
    return [each for each in CHEAP_FIRST if is_small or each != "featboost"]


@with_constructor
class AutoSelector(StepPredictor):
    """Try several methods, and keep the one that serves the model best with the fewest features.

    A-GBM, Grafting, Feature Gradients and, on small tables, FeatBoost are each fitted inside three
    outer folds. The model that the features are for is fitted to what they select, and scored on
    the test rows, which took no part in the selection. The method with the best mean score, or
    one with fewer features whose paired difference to it on the same rows is at most one standard
    error, wins and is fitted to all rows: ``path_``, ``selection_`` and predictions are those of
    the winner. Above 20,000 rows the comparison is made on a stratified sample of so many.

    Parameters
    ----------
    for_model : {"trees", "linear", "knn"} or estimator, default="trees"
        The model that the features are for: boosted trees, logistic or ridge regression, nearest
        neighbours, or any classifier or regressor of scikit-learn's kind.
    candidates : None, str, selector, sequence or dict, default=None
        The methods, as for `compare`: names or selectors of secateur. The first is fitted to all
        rows before the comparison. None is agbm, grafting, fg, and featboost up to 2,000 rows and
        500 columns, the quick ones first.
    target_type : {"auto", "classification", "regression"}, default="auto"
        "auto" takes text, booleans and whole numbers with at most 20 different values as classes.
    scoring : None, str or callable, default=None
        The score that decides: None is the log loss (the accuracy for models without
        probabilities) or the squared error; any scorer of scikit-learn, compared fold by fold.
    categorical_features : None, "from_dtype", or names, indices or mask, default=None
        For methods that take categories; the others get one column for each value. Text in an
        array, rather than in a data frame, is for the former only.
    on_answer : callable, default=None
        Called with (method, path, selection) as soon as there is a selection from all rows: that
        of the first candidate, and that of the winner if it is another one.
    cv : None, int, splitter or list of (train, test), default=None
        The folds inside each candidate. A splitter or a list also makes the outer folds.
    cut : None, cutting rule, "best", "one_se", "elbow" or int, default=None
        Which step of its path each candidate chooses. None is the candidate's own default.
    time_limit : float, default=None
        Seconds for everything. The first candidate has an answer first; two thirds of the time
        left are for the comparison, the rest for fitting the winner. Candidates that do not finish
        are named in ``candidates_``; if the winner's own fit does not, the first answer stays.
    stopping : None, stopping rule or list of rules, default=None
        Rules that end the searches on all rows.
    on_step : callable, default=None
        Called with each `Step` of the winner's path, once it is known.

    Attributes
    ----------
    path_ : SelectionPath
        The winner's.
    candidates_ : list of Candidate
        Method, status, number of features, score, paired difference and seconds of each.
    winner_ : str
        The short name of the method that won.
    estimator_ : estimator
        The winner, fitted to all rows.
    encoder_ : transformer or None
        What makes numbers of categories for the winner, where it takes numbers only.
    sentence_ : str
        Which method won, by how much, and what it cost.
    n_fits_ : int
        The number of fits of methods.
    target_type_ : str

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = AutoSelector(candidates="grafting,featboost", random_state=0).fit(X, y)
    >>> [candidate.method for candidate in selector.candidates_]
    ['grafting', 'featboost']
    >>> selector.path_.algorithm, selector.winner_ in {"grafting", "featboost"}
    ('AutoSelector', True)
    """

    _tries_methods: ClassVar[bool] = True
    _may_lack_model: ClassVar[bool] = True  # the winner may not predict

    for_model: Any = estimator_or(
        *MODELS, methods=("fit", "predict"), advice="Use 'trees' for boosted trees."
    ).default("trees")
    candidates: Any = None
    target_type: str = one_of(
        "auto", "classification", "regression", advice="Use 'auto' to have it read from y."
    ).default("auto")
    scoring: Any = None
    categorical_features: Any = None
    on_answer: Any = Constraint(
        lambda value: value is None or callable(value),
        "None or a function of method, path and selection",
        "Use for instance on_answer=print.",
    ).default(None)

    # ---- the fit ------------------------------------------------------------------------------

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> AutoInput:
        target_type: Any = self.target_type
        if target_type == "auto":
            target_type = guess_target_type(y)
        given = read_problem(self.get_params(deep=False), target_type, X, y, sample_weight)
        rows = read_rows(
            X,
            y,
            target_type=target_type,
            sample_weight=sample_weight,
            categorical_features=self.categorical_features,
        )
        model = self._scoring_model(rows)
        has_shares = target_type == "regression" or hasattr(model, "predict_proba")
        context = ComparisonContext(
            rows=rows,
            folds=(),
            validators={"model": model},
            metric=read_metric(self.scoring or (None if has_shares else "accuracy"), target_type),
            sizes=(),
            seed=given.seed,
            n_jobs=self.n_jobs,
        )
        deadline = perf_counter() + (math.inf if self.time_limit is None else self.time_limit)
        candidates = self._read_candidates(rows)
        search = AutoSearch(candidates, rows, context, deadline, self.stopping, self.on_answer)
        return given.extended(AutoInput, search=search)

    def _scoring_model(self, rows: Rows) -> Any:
        kind = rows.target_type
        check_target_type("for_model", self.for_model, kind)
        known = read_validators({"model": self.for_model}, kind, is_sparse=rows.is_sparse)
        model = with_threads(known["model"], self.n_jobs)
        return on_numbers(model, has_categories=rows.has_categories)

    def _read_candidates(self, rows: Rows) -> dict[str, Any]:
        """The candidates with the parameters that are passed to them."""
        names = self.candidates
        if names is None:
            names = default_candidates(len(rows.weight), len(rows.names))
        found = read_methods(names, rows.target_type, "candidates")
        given = self.get_params(deep=False)
        passed = {name: given[name] for name in PASSED if given[name] is not None}
        for name, method in found.items():
            if not hasattr(method, "with_cut") or tries_methods(method):
                raise ParameterError(
                    f"'candidates' must be selectors of secateur, of one method each. Got {name!r}."
                    " Use for instance 'agbm,grafting', or compare() for other methods."
                )
            known = method.get_params(deep=False)
            method_passed = {key: value for key, value in passed.items() if key in known}
            found[name] = clone(method).set_params(**method_passed)
        return found

    def _folds(self, given: AutoInput) -> list[Fold]:
        """The outer folds: three, or those of a splitter; of a sample of the rows if many."""
        inner = super()._folds(given)  # raises before any work
        n_rows, target = given.problem.n_rows, given.problem.target
        groups, seed = given.row_groups, given.seed
        folds = inner
        if is_drawn(self.cv):
            n_folds = OUTER_FOLDS if n_rows >= FEW_ROWS else 0
            folds = draw_folds(target, None, random_state=seed, groups=groups, default=n_folds)
        if n_rows <= MAX_COMPARED:
            return folds
        is_sampled = np.zeros(n_rows, np.bool_)
        is_sampled[hold_out(target, MAX_COMPARED / n_rows, seed, groups).test] = True
        return [Fold(*(part[is_sampled[part]] for part in fold)) for fold in folds]

    def _engine(
        self,
        given: AutoInput,
        folds: list[Fold],
        threads: Threads,  # noqa: ARG002 - each candidate has its own
        progress: Progress,
    ) -> list[PathSearch]:
        search, rows = given.search, given.search.rows
        if given.groups is not None:
            search.rows = rows = replace(rows, groups=group_numbers(given.groups))
        if len(given.kept) < len(rows.weight):  # folds have the numbers of these
            rows = rows.take(given.kept)
        search.context = replace(search.context, rows=rows, folds=folds)
        progress.expect(search.n_fits + 1, 1000)  # the last part is the path itself

        def finish(path: SelectionPath) -> SelectionPath:
            return replace(path, penalty_name=search.winner.path.penalty_name)

        steps = search.steps(progress)
        return [PathSearch(steps, on_step=progress.stop_if_asked, finish=finish)]

    def _limits(self) -> dict[str, Any]:
        """Limits are those of the candidates: a path that is known is not cut short."""
        return {"rules": [], "on_step": self.on_step}

    def _remember(self, given: AutoInput) -> None:
        super()._remember(given)
        search = given.search
        self.target_type_ = search.rows.target_type
        self.winner_, self.candidates_ = search.winner.method, search.results
        self.estimator_, self.encoder_ = search.winner.estimator, search.winner.encoder
        self._seconds, self._n_compared = search.winner.seconds, search.n_tested
        self.n_fits_ = search.n_done
        for warned in search.winner.warned:
            warn_caller(str(warned.message), warned.category)

    def _set_path(self, path: SelectionPath, *, is_asked: bool = False) -> None:
        own = self.estimator_.path_
        # an interrupted path has fewer steps
        self.estimator_.path_ = replace(own, steps=own.steps[: len(path)])
        super()._set_path(path, is_asked=is_asked)

    def _default_rule(self) -> CuttingRule:
        rule: CuttingRule = self.estimator_._default_rule()  # noqa: SLF001 - of the same base
        return rule

    def _set_selection(self, selection: Selection) -> None:
        """Keep the selection, and choose the same step of the winner's own path."""
        super()._set_selection(selection)
        model = copy.copy(self.estimator_)
        path, step = model.path_, model.path_[selection.index]
        support = {"support": step.support, "names": path.names_of(step)}
        model.cut = self.cut
        model._set_selection(  # noqa: SLF001 - of the same base
            replace(selection, **support, n_features_in=path.n_features_in)
        )
        self.estimator_ = model

    @property
    def sentence_(self) -> str:
        """Which method won, by how much, and what it cost."""
        check_is_fitted(self)
        model = self.for_model
        model = MODELS[model] if isinstance(model, str) else type(model).__name__
        words = comparison_sentence(self.candidates_, model, self._n_compared)
        chosen = f"{NAMES.get(self.winner_, self.winner_)} on all rows: "
        chosen += f"{self.support_.sum()} of {count_of(self.n_features_in_)}"
        return f"{words} {chosen}, in {self._seconds:.1f} s."

    # ---- predictions --------------------------------------------------------------------------

    def _has_method(self, name: str) -> bool:
        """Whether the winner has a method; before a fit it may turn out to."""
        return not hasattr(self, "estimator_") or hasattr(self.estimator_, name)

    def _ask(self, method: str, X: Any, *more: Any) -> Any:
        """The answer of the winner's model."""
        check_is_fitted(self)
        model = self.estimator_
        if self.encoder_ is not None:
            X = self._encoded(X, self.encoder_)
        elif self._is_reduced:
            model = copy.copy(model)
            model._is_reduced = True  # noqa: SLF001 - of the same base
        return getattr(model, method)(X, *more)

    def _encoded(self, X: Any, encoder: AsNumbers) -> AnyArray:
        """The numbers that the winner takes, from all columns or from the selected ones alone."""
        support = np.flatnonzero(self.support_)
        if self._are_selected(X, self._schema.take(support).names):
            return encoder.transform_some(X, support)
        self._read_again(X, only=np.empty(0, np.int64))
        numbers: AnyArray = encoder.transform(X)
        return numbers

    predict = delegated(StepPredictor.predict)
    staged_predict = delegated(StepPredictor.staged_predict)
    predict_proba = delegated(PredictsClasses.predict_proba)
    decision_function = delegated(PredictsClasses.decision_function)

    @available_if(lambda self: self._has_method("predict"))  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy or R2 of the winner's own model, where it has one."""
        return float(self._ask("score", X, y, sample_weight))

    @available_if(lambda self: self._has_method("predict"))  # type: ignore[untyped-decorator]
    def reduced(self) -> ReducedModel:
        """The winner's fitted model as an estimator that takes the selected columns alone."""
        return super().reduced()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kind = getattr(self, "target_type_", self.target_type)
        tags.estimator_type = {"classification": "classifier", "regression": "regressor"}.get(kind)
        tags.classifier_tags, tags.regressor_tags = ClassifierTags(), RegressorTags()
        return tags
