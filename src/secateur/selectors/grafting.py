"""Grafting of linear models and networks, for classification and regression."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from secateur._kernels.threads import Threads
from secateur.data.table import Fold, all_rows
from secateur.engines.grafting.columns import GraftingData, GraftingParams
from secateur.engines.grafting.greedy import GREEDY_SHARE, GraftRun, trace_grafts
from secateur.engines.grafting.linear import LinearEngine, LinearGrafting
from secateur.engines.grafting.models import LinearModel, Network
from secateur.engines.grafting.penalties import pairs_of, penalty_at_limit, trace_pairs
from secateur.engines.path_search import PathSearch, search_penalties
from secateur.path import Best, OneStandardError, Patience, Selection, StopReason
from secateur.path.cutting import CuttingRule
from secateur.selectors.base import PathSelector, warn_caller
from secateur.selectors.grafting_input import (
    GraftingInput,
    loss_of,
    make_columns,
    read_alphas,
    read_penalties,
    read_rows,
)
from secateur.selectors.inputs import read_input, refuse_categories
from secateur.selectors.parameters import (
    EXECUTOR,
    NO_LIMIT,
    ClassificationParameters,
    flag,
    number,
    one_of,
    params_of,
    read_penalty,
    with_constructor,
    with_parameters_of,
)
from secateur.selectors.prediction import PredictsClasses, PredictsValues, StepPredictor
from secateur.selectors.progress import Progress
from secateur.typing import FloatArray

PATIENCE = 5  # steps without progress that end "auto"; twice that for networks
FALLBACK = 1 / 3  # position in the grid of the automatic penalty without folds


@with_constructor
class GraftingSelector(StepPredictor):
    """Fits linear models or networks by grafting and keeps the features of one step.

    Parameters
    ----------
    model : {"linear", "mlp"}, default="linear"
        What grows: a linear model, or a network with one hidden layer of sigmoid units.
    l1 : float, "auto" or sequence of float, default="auto"
        The penalty on ``sum alpha |w|``, where alpha are the costs (Eq. 7). "auto" traces a falling
        grid from the smallest value that keeps everything out, scores each on held-out rows, and
        lets ``cut`` choose; a sequence is a grid of your own. If weights are grafted one by one
        (``l0``, "mlp", "newest") "auto" is one small value, and ``cut`` chooses one of the grafts.
    l0 : float, "auto" or sequence of float, default=0.0
        The penalty of a feature in use, times its cost; makes the choice greedy (Section 3.2.2).
        "auto" or a sequence searches pairs of ``l1`` and ``l0``: each is fitted to its end and
        scored on held-out rows, and ``cut`` chooses. "auto" for both has 25 pairs.
    l2 : float, default=0.0
        The penalty on ``sum beta w^2``.
    l1_costs : None, number, sequence or dict, default=None
        The alphas of the L1 penalty (Eq. 7), given as ``costs`` are; kept features have 0. None is
        the costs; with 1 here and in ``l2_costs``, a cost counts for ``l0`` alone.
    l2_costs : None, number, sequence or dict, default=None
        The betas of the L2 penalty, likewise.
    l1_limit : float, default=None
        The form of Eq. 5: the largest ``sum alpha |w|`` of weights of standardised columns. The
        penalty with that solution takes the place of ``l1``; it is 0 where none is needed.
    l2_limit : float, default=None
        The same for ``sum beta w^2``, in place of ``l2``; ``l1="auto"`` is then 0.
    max_hidden : int, default=None
        The largest number of hidden units of a network.
    adjust : {"all", "newest"}, default="all"
        Which weights are fitted after a graft: all, or the newest and the biases (Section 3.4).
    retries : int, default=0
        How many further candidates are tried when the criterion rises (Section 3.2.3).
    standardize : bool, default=True
        Bring columns to mean 0 and standard deviation 1 first; sparse ones stay sparse.
    fit_intercept : bool, default=True
        Without an intercept columns are scaled, not centred.
    tol : float, default=1e-6
        The largest violation of optimality and duality gap, as shares of those at the start.
    max_iter : int, default=200
        Grafting rounds for one L1 penalty; one by one, the number of grafts.
    cut : None, cutting rule, "best", "one_se", "elbow" or int, default=None
        Which step of the path is chosen. None is the fewest features within one standard error of
        the best; where ``l1`` is a number the last step, the solution of Eq. 7, without folds.
    random_state : int, RandomState or None, default=None
        Draws the folds; grafting itself is deterministic.
    executor : DaskExecutor, default=None
        Holds the table and sums over its rows on the workers of a cluster; None does so in this
        process. Sums are then made by blocks of rows, which may change their last digits; the
        number of workers changes nothing.

    Attributes
    ----------
    path_ : SelectionPath
        Supports, costs and scores: a step is one L1 penalty, or one graft.
    coef_ : array of shape (n_features_in_,), or (n_outputs, n_features_in_) for classes
        In the units of X, also where columns were standardised. Linear models only.
    intercept_ : float, or array of shape (n_outputs,) for classes
    network_ : Network
        The connections of a network; print it for a table. Networks only.
    feature_importances_ : array of float, shape (n_features_in_,)
        Shares of the absolute weights of standardised columns.
    kkt_violation_ : float
        The largest violation of optimality, as a share of the largest gradient at the start.
    dual_gap_ : float
        Bound on how much the criterion can still fall, as a share of the loss of a constant; NaN
        for networks, which are not convex.
    n_grafts_ : int
        Number of weights that were freed.
    n_iter_ : int
        Grafting rounds.
    """

    model: str = one_of("linear", "mlp", advice="Use 'linear' for coefficients.").default("linear")
    l1: Any = "auto"
    l0: Any = 0.0
    l2: float = number(0, below=True, advice="Use 0 for no ridge.").default(0.0)
    l1_costs: Any = None
    l2_costs: Any = None
    l1_limit: float | None = number(0, above=True, or_none=True, advice=NO_LIMIT).default(None)
    l2_limit: float | None = number(0, above=True, or_none=True, advice=NO_LIMIT).default(None)
    max_hidden: int | None = number(1, whole=True, or_none=True, advice=NO_LIMIT).default(None)
    adjust: str = one_of("all", "newest").default("all")
    retries: int = number(0, whole=True, advice="Use 0 for none.").default(0)
    standardize: bool = flag("Use True unless columns share a scale.").default(True)
    fit_intercept: bool = flag("Use True for a bias.").default(True)
    tol: float = number(0, 1, above=True, below=True).default(1e-6)
    max_iter: int = number(1, whole=True).default(200)
    executor: Any = EXECUTOR.default(None)

    _fits_on_disk = frozenset({"here", "cluster"})

    @with_parameters_of(PathSelector.fit)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Any:
        """Search the path of selections and choose a step.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Numbers; missing values (NaN or None) count as the mean of their column. Or a stream,
            which is copied to a file and read from there by blocks of rows: an iterator of (X, y)
            or (X, y, weight), a table of `secateur.open_table`, the name of a Parquet, CSV, Feather
            or LIBSVM file, or a dask array or data frame, whose rows go to the workers of
            ``executor``, or of the current client.
        y : array or series of shape (n_rows,)
            The name of the target's column for a file that names columns (the last by default),
            None for other streams.
        """
        super().fit(X, y, sample_weight, groups)
        error = max(self.kkt_violation_, self.dual_gap_)
        is_cut_short = self.n_iter_ >= self.max_iter and error > self.tol
        if self.path_.stop_reason is StopReason.MAX_ITER:
            warn_caller(
                f"Grafting stopped after {self.max_iter} grafts, where one more would still lower "
                f"the criterion. Raise max_iter={self.max_iter}, or the penalties.",
                ConvergenceWarning,
            )
        elif is_cut_short and not self._params().one_by_one:
            warn_caller(
                f"Grafting stopped after 'max_iter' rounds, before the optimum was reached. Got an "
                f"error of {error:.1e} with tol={self.tol:.1e}. Raise max_iter={self.max_iter}.",
                ConvergenceWarning,
            )
        return self

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> GraftingInput:
        penalties = read_penalties(self, one_by_one=self._params().one_by_one)
        given = read_input(self, self._target_type, *read_rows(self, X, y, sample_weight))
        problem, table = given.problem, given.problem.table
        refuse_categories(table.names, table.categories, "grafting")
        loss = loss_of(self, problem)
        loss.baseline(problem.target.values, problem.weight)  # not every target has one
        alphas = read_alphas(self, problem)
        return given.extended(GraftingInput, loss=loss, alphas=alphas, **penalties)

    def _folds(self, given: GraftingInput) -> list[Fold]:
        """The folds of ``cv`` if there is a choice to make; none for penalties that are given."""
        is_chosen = self._params().one_by_one and self.cut is not None
        if isinstance(given.l1, float) and not is_chosen and not given.is_joint:
            return []
        return super()._folds(given)

    def _engine(
        self, given: GraftingInput, folds: list[Fold], threads: Threads, progress: Progress
    ) -> list[PathSearch]:
        problem, params, unit = given.problem, self._params(), (0.0, 1.0)
        values, weight = problem.target.values, problem.weight
        columns = make_columns(problem, self.executor, threads, params)
        if self.model == "mlp" and problem.target.classes is None:  # offset and scale of the target
            centre = float(np.average(values, weights=weight))
            scale = float(np.sqrt(np.average((values - centre) ** 2, weights=weight)))
            unit = (centre, scale or 1.0)
        fixed = (given.loss, problem.cost_model, threads, unit)
        data = GraftingData(columns, values, weight, *fixed, own_alphas=given.alphas)
        if given.is_joint:
            return [self._search_pairs(data, given, folds, progress)]
        if params.one_by_one:
            return [self._search_grafts(data, given.l1, folds, progress)]
        l1 = given.l1
        if self.l1_limit is not None:
            l1 = penalty_at_limit(
                LinearGrafting(data, params, all_rows(len(values))), 1, self.l1_limit
            )
        elif self.l2_limit is not None:
            own = replace(params, l1=l1 if isinstance(l1, float) else 0.0)
            fit = LinearGrafting(data, own, all_rows(len(values)))
            params = replace(params, l2=penalty_at_limit(fit, 2, self.l2_limit))
        engine = LinearEngine(data, params, folds, progress.round)
        penalties, before = self._penalties(engine, l1, folds)
        progress.expect(len(penalties), len(folds) + 1)
        engine.follow(before)
        return [
            search_penalties(
                engine,
                penalties,
                size=self._wanted_size if l1 is None else None,
                count=problem.cost_model.count,
                none=engine.grid()[0] if isinstance(l1, list) and folds else None,
                rules=[Patience(PATIENCE)] if folds and l1 is None else [],
                on_step=progress.part,
                penalty_name="l1",
            )
        ]

    def _penalties(
        self, engine: LinearEngine, l1: float | list[float] | None, folds: list[Fold]
    ) -> tuple[list[float], list[float]]:
        """The L1 penalties that are steps, and those that are fitted before them."""
        if isinstance(l1, list):
            return l1, []
        if isinstance(l1, float):
            has_limits = self.max_features is not None or self.cost_budget is not None
            return [l1], engine.approach(l1) if has_limits else []
        penalties = engine.grid()
        if folds or self._wanted_size is not None:
            return penalties, []
        last = int(FALLBACK * (len(penalties) - 1))
        return penalties[last : last + 1], penalties[:last]

    def _search_grafts(
        self, data: GraftingData, l1: Any, folds: list[Fold], progress: Progress
    ) -> PathSearch:
        """One step per graft; ``l1`` is a number, or None for a small one."""
        params = replace(self._params(), l1=l1 or 0.0)
        if l1 is None:
            largest = GraftRun(data, params, all_rows(len(data.target))).growing.largest_l1()
            params = replace(params, l1=GREEDY_SHARE[params.model] * largest)
        progress.expect(1, (params.max_iter + 1) * (len(folds) + 1))
        patience = Patience(2 * PATIENCE if self.model == "mlp" else PATIENCE)
        return PathSearch(
            trace_grafts(data, params, folds, progress.round),
            rules=[patience] if folds and l1 is None else [],
            on_step=progress.stop_if_asked,
            penalty_name="l1",
        )

    def _search_pairs(
        self, data: GraftingData, given: GraftingInput, folds: list[Fold], progress: Progress
    ) -> PathSearch:
        """One step for each pair of an L1 and an L0 penalty; without folds that in the middle."""
        l1 = [given.l1] if isinstance(given.l1, float) else given.l1
        params = replace(self._params(), l0=0.0)
        pairs = pairs_of(data, params, l1, given.l0)
        if not folds:
            pairs = pairs[len(pairs) // 2 :][:1]
        progress.expect(len(pairs), len(folds) + 1)
        steps = trace_pairs(data, params, pairs, folds, progress.round)
        return PathSearch(steps, on_step=progress.part, penalty_name="l1")

    def _params(self) -> GraftingParams:
        l0 = read_penalty("l0", self.l0)  # one by one also where it is searched
        return params_of(self, GraftingParams, l1=0.0, l0=l0 if isinstance(l0, float) else np.inf)

    def _default_rule(self) -> CuttingRule:
        """The last step of penalties that are given, else the fewest within one standard error."""
        given = [
            isinstance(read_penalty(name, getattr(self, name)), float) for name in ("l1", "l0")
        ]
        has_limit = self.l1_limit is not None or self.l2_limit is not None
        return Best() if has_limit or all(given) else OneStandardError()

    def _set_selection(self, selection: Selection) -> None:
        super()._set_selection(selection)
        details = self.path_[selection.index].details
        self.n_iter_ = int(details["rounds"])
        self.n_grafts_ = int(details["grafts"])
        self.kkt_violation_ = float(details["violation"])
        self.dual_gap_ = float(details.get("gap", np.nan))

    def _model_for(self, kind: str, attribute: str) -> Any:
        if isinstance(self._model, LinearModel) != (kind == "linear"):
            raise AttributeError(
                f"{type(self).__name__} has {attribute!r} for model={kind!r} only."
            )
        return self._model

    @property
    def coef_(self) -> FloatArray:
        """Coefficients in the units of X, 0 for features that are not selected."""
        model: LinearModel = self._model_for("linear", "coef_")
        coef = np.zeros((len(model.coef), self.n_features_in_))
        coef[:, model.features] = model.coef
        return coef if self._target_type == "classification" else coef[0]

    @property
    def intercept_(self) -> Any:
        """The prediction if all features are 0, on the scale of ``decision_function``."""
        found = self._model_for("linear", "intercept_").intercept
        return found if self._target_type == "classification" else float(found[0])

    @property
    def network_(self) -> Network:
        """The connections of the chosen network, in the units of X."""
        model = self._model_for("mlp", "network_")
        names = [str(label) for label in getattr(self, "classes_", ["y"])]
        outputs = names[1:] if len(names) == 2 else names
        return model.readable(self._schema.names, outputs)


@with_constructor
class GraftingClassifier(PredictsClasses, GraftingSelector, ClassificationParameters):
    """Grafting for classification: frees the weights with the largest gradients of the loss.

    Minimises the mean log loss plus ``l2 sum beta w^2 + l1 sum alpha |w| + l0 sum cost [used]``
    (Eq. 7 of Perkins, Lacker and Theiler, JMLR 2003) over a linear model or a network that grows.
    With ``l1`` and ``l2`` alone a linear model reaches the global optimum.

    Parameters
    ----------
    loss : {"log_loss", "hinge"}, default="log_loss"
        "hinge", of two classes, is ``max(0, 1 - margin)`` (Figure 1), its corner rounded over 0.02;
        it has no probabilities.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = GraftingClassifier(random_state=0).fit(X, y)
    >>> bool(selector.support_.sum() < 20), bool(selector.score(X, y) > 0.95)
    (True, True)
    """

    loss: str = one_of("log_loss", "hinge").default("log_loss")

    @available_if(lambda self: self.loss != "hinge")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of each class, in the order of ``classes_``; not with the hinge loss."""
        return super().predict_proba(X)


@with_constructor
class GraftingRegressor(PredictsValues, GraftingSelector):
    """Grafting for regression: frees the weights with the largest gradients of the squared error.

    Minimises half the mean squared error plus
    ``l2 sum beta w^2 + l1 sum alpha |w| + l0 sum cost [used]`` (Eq. 7 of Perkins, Lacker and
    Theiler, JMLR 2003) over a linear model or a network that grows. With ``l1`` and ``l2`` alone a
    linear model reaches the global optimum: that of the Lasso or the elastic net.

    Parameters
    ----------
    loss : {"squared_error", "huber", "epsilon_insensitive"}, default="squared_error"
        The last two are for linear models. Corners of "epsilon_insensitive" are rounded over 0.02
        standard deviations of y.
    epsilon : float, default=0.1
        Residuals up to this cost nothing, in units of y; for ``loss="epsilon_insensitive"``.
    huber_delta : float, default=None
        Where the Huber loss turns linear, in units of y; None is the 0.9 quantile of distances to
        the median.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> selector = GraftingRegressor(random_state=0).fit(X, y)
    >>> bool(selector.support_.sum() < 10), bool(selector.score(X, y) > 0.4)
    (True, True)
    """

    loss: str = one_of("squared_error", "huber", "epsilon_insensitive").default("squared_error")
    epsilon: float = number(0, below=True).default(0.1)
    huber_delta: float | None = number(
        0, above=True, below=True, or_none=True, advice="Use None to have it chosen from y."
    ).default(None)
