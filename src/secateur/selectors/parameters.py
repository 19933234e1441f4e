"""Parameters of selectors: constraints, reading, storing and documenting them.

An error says what is asked for, what was given and what to do:
'penalty' must be a number >= 0. Got -1.0. Use 0 for no penalty.
"""

from __future__ import annotations

import inspect
import math
import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar, dataclass_transform

import numpy as np

from secateur.exceptions import ParameterError, similar_to
from secateur.execution.dask import is_executor
from secateur.model_selection.folds import is_drawn
from secateur.path.stopping import StoppingRule

Class = TypeVar("Class", bound=type)
Method = TypeVar("Method", bound=Callable[..., Any])
Params = TypeVar("Params")


class Constraint(NamedTuple):
    """A test of a value, its condition in words, and advice; for a parameter also its default."""

    accepts: Callable[[Any], bool]
    must: str
    advice: str
    value: Any = None

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError unless the value passes."""
        if not self.accepts(value):
            raise ParameterError(f"'{name}' must be {self.must}. Got {value!r}. {self.advice}")

    def default(self, value: Any) -> Any:
        """A default with this constraint, for `with_constructor`; it is the advice if none is."""
        return self._replace(value=value, advice=self.advice or f"Use {value!r} for a start.")


def number(
    minimum: float,
    maximum: float = math.inf,
    *,
    advice: str = "",
    above: bool = False,
    below: bool = False,
    or_none: bool = False,
    words: tuple[str, ...] = (),
    whole: bool = False,
) -> Constraint:
    """A number in a range; ``above`` and ``below`` leave the ends out."""
    kind = "an int" if whole else "a finite number" if below and maximum == math.inf else "a number"
    span = kind if minimum == -math.inf else f"{kind} {'>' if above else '>='} {minimum:g}"
    if maximum < math.inf:
        span += f" and {'<' if below else '<='} {maximum:g}"

    def accepts(value: Any) -> bool:
        if value is None:
            return or_none
        if isinstance(value, str):
            return value in words
        if isinstance(value, bool | np.bool_) or not isinstance(value, Integral if whole else Real):
            return False
        size = float(value)
        low = size > minimum if above else size >= minimum
        return low and (size < maximum if below else size <= maximum)

    return Constraint(accepts, _join([span, *map(repr, words)], or_none), advice)


def one_of(*options: Any, advice: str = "") -> Constraint:
    """One of a few values."""

    def accepts(value: Any) -> bool:
        plain = value.item() if isinstance(value, np.generic) else value
        # by type as well: 1 is not True
        return any(type(plain) is type(option) and plain == option for option in options)

    return Constraint(accepts, _join([repr(option) for option in options]), advice)


def flag(advice: str) -> Constraint:
    """True or False."""
    return one_of(True, False, advice=advice)


def _join(parts: list[str], or_none: bool = False) -> str:
    options = [*parts, "None"] if or_none else parts
    return options[0] if len(options) == 1 else f"{', '.join(options[:-1])} or {options[-1]}"


def estimator_or(*words: str, methods: tuple[str, ...], advice: str = "") -> Constraint:
    """A word, or an estimator by its methods; a class is none."""

    def accepts(value: Any) -> bool:
        if isinstance(value, str):
            return value in words
        return not isinstance(value, type) and all(hasattr(value, each) for each in methods)

    must = f"{', '.join(map(repr, words))} or an estimator with {' and '.join(methods[:2])}"
    return Constraint(accepts, must, advice)


def cv_from(minimum: int, advice: str) -> Constraint:
    """Folds: None, a number of them, a splitter or lists of rows."""

    def accepts(value: Any) -> bool:
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return bool(value >= minimum)
        return value is None or (not is_drawn(value) and not isinstance(value, bool))

    must = f"None, an int >= {minimum}, a splitter or a list of (train, test) rows"
    return Constraint(accepts, must, advice)


def read_stopping(stopping: Any) -> list[StoppingRule]:
    """The stopping rules of the user: none, one or several."""
    if stopping is None:
        return []
    return list(stopping) if isinstance(stopping, list | tuple) else [stopping]


def params_of(estimator: Any, kind: type[Params], **more: Any) -> Params:
    """The parameters of an engine: those of the estimator that have the same name, and more."""
    known = vars(estimator)  # where constructors leave the parameters; get_params reads signatures
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]  # a dataclass
    return kind(**{**{name: known[name] for name in names if name in known}, **more})


EXECUTOR = Constraint(is_executor, "None or a DaskExecutor", "Use secateur.DaskExecutor(client).")


def read_penalty(name: str, given: Any, limit: float = math.inf) -> float | list[float] | None:
    """One number, a falling grid, or None for "auto"; each from 0 to below ``limit``."""
    advice = "Use 'auto' to have it chosen, 0 for no penalty."
    if isinstance(given, str) and given == "auto":
        return None
    if isinstance(given, str) or not np.iterable(given):
        number(0, limit, below=True, words=("auto",), advice=advice).check(name, given)
        return float(given)
    values = list(given)
    if not values:
        raise ParameterError(f"{name!r} must hold at least one value. Got {given!r}. {advice}")
    each = number(0, limit, below=True, advice=advice)
    for value in values:
        each.check(name, value)
    return sorted({float(value) for value in values}, reverse=True)


NO_LIMIT = "Use None for no limit."
COMMON = "SelectorParameters"  # the class of the parameters that all selectors have


@dataclass_transform(kw_only_default=True, eq_default=False)
def with_constructor(cls: Class) -> Class:
    """Make the constructor of a class from annotated defaults: its own and those of its bases.

    Constraints are collected alike. The docstring of a class with examples gets the parameters and
    attributes of its bases, those of `SelectorParameters` last.
    """
    own = {name: kind for name, kind in inspect.get_annotations(cls).items() if name[0] != "_"}
    constraints = {name: vars(cls)[name] for name in own if isinstance(vars(cls)[name], Constraint)}
    for name, kind in own.items():
        value = constraints[name].value if name in constraints else vars(cls)[name]
        own[name] = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=kind
        )
        if cls.__name__ == COMMON:  # for selectors with a constructor of their own
            setattr(cls, name, value)
        else:
            delattr(cls, name)  # instances have it, as those of scikit-learn
    cls._own, cls._constraints = own, constraints  # type: ignore[attr-defined]
    cls._constraints = dict(_of_bases(cls, "_constraints"))  # type: ignore[attr-defined]
    bases = cls.__mro__[::-1]
    common_last = sorted(bases, key=lambda base: base.__name__ == COMMON)
    known = _of_bases(cls, "_own")
    parameters = {name: known[name] for base in common_last for name in vars(base).get("_own", ())}
    defaults = {name: each.default for name, each in parameters.items()}

    def __init__(self: Any, *values: Any, **given: Any) -> None:  # noqa: N807
        if values or not given.keys() <= defaults.keys():
            raise TypeError(_wrong_arguments(type(self).__name__, values, given, list(defaults)))
        vars(self).update(defaults | given)

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([itself, *parameters.values()])
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = __init__  # type: ignore[misc]
    cls.__doc__ = _documented(cls, common_last, parameters)
    return cls


def _of_bases(cls: type, name: str) -> ChainMap[str, Any]:
    """The entries of a dict that classes have: those of a subclass before those of its bases."""
    return ChainMap(*(vars(base).get(name, {}) for base in cls.__mro__))


def _documented(cls: type, bases: list[type], parameters: Iterable[str]) -> str:
    """The docstring of a class with examples, with the parameters and attributes of its bases."""
    head, title, examples = inspect.cleandoc(cls.__doc__ or "").partition("Examples\n--------\n")
    if not title:
        return head
    sections = [head.partition("Parameters\n----------\n")[0].rstrip()]
    for name in ("Parameters", "Attributes"):
        entries: dict[str, str] = {}
        for base in bases:
            entries = {**entries, **_entries(base, name), **entries}
        ordered = {each: entries[each] for each in parameters if each in entries} | entries
        sections.append(f"{name}\n----------\n" + "\n".join(ordered.values()))
    return "\n\n".join([*sections, title + examples])


def _wrong_arguments(
    name: str, values: tuple[Any, ...], given: Mapping[str, Any], known: list[str]
) -> str:
    if values:
        shown = ", ".join(map(repr, values))
        return (
            f"{name} takes keyword arguments only. Got {name}({shown}). Name the parameter of each "
            f"value, for instance {name}({known[0]}={values[0]!r})."
        )
    unknown = next(each for each in given if each not in known)
    return (
        f"{name} has no parameter {unknown!r}.{similar_to(unknown, known)} Its parameters are "
        f"{', '.join(sorted(known))}."
    )


def _entries(documented: Any, title: str) -> dict[str, str]:
    """The entries of a section of the docstring of a class or function of this library, by name."""
    if not documented.__module__.startswith("secateur."):
        return {}
    text = inspect.cleandoc(documented.__doc__ or "")
    section = text.partition(f"{title}\n{'-' * len(title)}\n")[2].partition("\n\n")[0]
    entries = re.split(r"\n(?=\S)", section) if section else []
    return {entry.partition(" :")[0]: entry for entry in entries}


def with_parameters_of(other: Callable[..., Any]) -> Callable[[Method], Method]:
    """Document a method that returns ``self`` with the parameters of another, beside its own."""

    def complete(method: Method) -> Method:
        entries = _entries(other, "Parameters") | _entries(method, "Parameters")
        head = inspect.cleandoc(method.__doc__ or "").partition("\n\nParameters\n")[0]
        sections = ["", "Parameters", "----------", *entries.values(), "", "Returns", "-------"]
        method.__doc__ = "\n".join([head, *sections, "self"])
        return method

    return complete


@with_constructor
class SelectorParameters:
    """What all selectors have: costs, limits, threads, and how a fit ends.

    Parameters
    ----------
    cut : None, cutting rule, "best", "one_se", "elbow" or int, default=None
        Which step of the path is chosen. None is the fewest features within one standard error of
        the best along a grid, and the best step of a single fit.
    cv : None, int, splitter or list of (train, test), default=None
        The folds that score the steps of a path. None is five up to 2,000 rows, three up to 5,000,
        and one held-out fifth above; none below 40 rows. Without folds an automatic penalty of
        trees or of grafting is one value from the middle of its grid.
    costs : None, number, sequence, dict or FeatureCosts, default=None
        What features cost to acquire, 1 each by default; a dict goes by name or position.
    feature_groups : None, sequence, dict or matrix, default=None
        Features that are paid for together: the first of a group pays, the others are free.
    keep : names or indices, default=None
        Features that are always selected, at no cost.
    max_features : int, default=None
        The largest number of features, in every step of the path.
    cost_budget : float, default=None
        The largest total cost of the features, in every step of the path.
    time_limit : float, default=None
        Seconds after which the search ends with the steps that it has; the first is always
        finished. Time is checked after each penalty of a grid, and after each round, epoch, graft
        or accepted feature of a single fit.
    stopping : None, stopping rule or list of rules, default=None
        Further rules that end the search, checked as often as time: `MaxFeatures`, `CostBudget`,
        `Patience`, `TimeLimit`, or any object with ``reason(history)``.
    on_step : callable, default=None
        Called with each `Step` of the path as soon as it is there, as often as time is checked.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does. The steps up to then are in ``path_`` in any case, and the selector can be
        used; with "raise" ``fit`` raises KeyboardInterrupt then, with "keep" it warns and returns.
        Before the first step it always raises.
    random_state : int, RandomState or None, default=None
    n_jobs : int, default=None
        Threads; None is all cores. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar.
    """

    cut: Any = None
    cv: Any = cv_from(0, "Use 5 for five folds.").default(None)
    costs: Any = None
    feature_groups: Any = None
    keep: Any = None
    max_features: int | None = number(1, whole=True, or_none=True, advice=NO_LIMIT).default(None)
    cost_budget: float | None = number(0, or_none=True, advice=NO_LIMIT).default(None)
    time_limit: float | None = number(0, above=True, or_none=True, advice=NO_LIMIT).default(None)
    stopping: Any = Constraint(
        # a class has the method too, but is no rule
        lambda value: all(
            hasattr(rule, "reason") and not isinstance(rule, type) for rule in read_stopping(value)
        ),
        "None, a stopping rule or a list of them",
        "Use for instance secateur.Patience(3), or an object with the method 'reason'.",
    ).default(None)
    on_step: Any = Constraint(
        lambda value: value is None or callable(value),
        "None or a function of a step",
        "Use for instance on_step=print.",
    ).default(None)
    on_interrupt: str = one_of("raise", "keep").default("raise")
    random_state: Any = None
    n_jobs: int | None = number(
        -np.inf, whole=True, or_none=True, advice="Use None for all cores."
    ).default(None)
    verbose: int = number(0, whole=True, advice="Use 1 for a progress bar.").default(0)


@with_constructor
class ClassificationParameters:
    """The weights of classes.

    Parameters
    ----------
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes, times those of the rows.
    """

    class_weight: Any = None


@with_constructor
class RegressionParameters:
    """The loss of regression.

    Parameters
    ----------
    loss : str, default="squared_error"
        Also "absolute_error", "huber", "poisson" and "quantile".
    quantile : float, default=None
        The level, for ``loss="quantile"``.
    huber_delta : float, default=None
        Where the Huber loss turns linear; None is the 0.9 quantile of distances to the median.
    """

    loss: str = one_of("squared_error", "absolute_error", "huber", "poisson", "quantile").default(
        "squared_error"
    )
    quantile: float | None = number(
        0, 1, above=True, below=True, or_none=True, advice="Use 0.5 for the median."
    ).default(None)
    huber_delta: float | None = number(
        0, above=True, below=True, or_none=True, advice="Use None to have it chosen from y."
    ).default(None)


@with_constructor
class ExactThresholds:
    """Columns may have more than 255 bins.

    Parameters
    ----------
    max_bins : int or None, default=255
        Bins per feature; columns with fewer distinct values have a bin for each. None is a bin for
        each value of any column, as the papers have it: for small tables of numbers, since a column
        takes time and memory in proportion to its different values.
    """

    max_bins: Any = number(
        2, 255, whole=True, or_none=True, advice="Use None for a bin for each value."
    ).default(255)
