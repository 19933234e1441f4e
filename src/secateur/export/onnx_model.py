"""Fitted models as ONNX: converters for skl2onnx, so that pipelines convert as well.

Numbers are computed in 64 bits, so that thresholds of trees are compared exactly, whether the input
is of 32 or of 64 bits. Only the sum of the trees is rounded to 32 bits by the operator of ONNX.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline

from secateur.engines.boosted.trees import BoostedModel, Tree
from secateur.engines.grafting.models import LinearModel, NetworkModel
from secateur.exceptions import InputError, ParameterError, import_optional
from secateur.export.fitted import read_fitted, tree_rounds
from secateur.selectors.base import PathSelector
from secateur.selectors.prediction import ReducedModel
from secateur.typing import AnyArray, FloatArray

OPSETS = {"": 18, "ai.onnx.ml": 3}  # from 3 on thresholds have 64 bits
INPUT_TYPES = ("double", "float")


class SelectedColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """Keeps some columns: what a selector does in the middle of a pipeline."""

    def __init__(self, columns: Any) -> None:
        self.columns = columns

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def transform(self, X: Any) -> Any:
        """The columns."""
        return X[:, self.columns]


def to_onnx(model: Any, *, input_type: str = "double") -> Any:
    """Convert a fitted model, or a pipeline that has selectors, to ONNX.

    Boosted trees without categories, linear models and networks can be converted. A selector takes
    the selected columns alone, as its ``reduced()`` does; a pipeline takes all its columns.
    Classifiers have the outputs ``label`` and ``probabilities``, others ``variable``.

    Parameters
    ----------
    model : fitted selector, ReducedModel or Pipeline
    input_type : {"double", "float"}, default="double"
        The type of the input ``X``: 64 or 32 bits. Missing values are NaN. With "float" a cell
        between two numbers of 32 bits is rounded before it meets a threshold, so that predictions
        equal those of ``X.astype("float32")``.

    Returns
    -------
    onnx.ModelProto
        The names of its columns are in its metadata, as JSON under ``feature_names``.

    Examples
    --------
    >>> import numpy as np
    >>> from secateur import AGBMClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> selector = AGBMClassifier(penalty=0.05, max_iter=5).fit(X, X[:, 2] > 0)
    >>> onnx_model = to_onnx(selector)  # doctest: +SKIP
    >>> [output.name for output in onnx_model.graph.output]  # doctest: +SKIP
    ['label', 'probabilities']
    """
    if input_type not in INPUT_TYPES:
        raise ParameterError(f"'input_type' must be 'double' or 'float'. Got {input_type!r}.")
    skl2onnx = _skl2onnx()
    types = import_optional("skl2onnx.common.data_types", "ONNX", "secateur[export]")
    if isinstance(model, Pipeline):
        given, n_columns = _for_conversion(model, is_last=True), model.n_features_in_
        names = list(map(str, getattr(model, "feature_names_in_", [])))
    else:
        given = model.reduced() if hasattr(model, "reduced") else model
        fitted = read_fitted(given)
        n_columns, names = fitted.n_columns, list(fitted.names)
    if n_columns == 0:
        raise InputError(
            "A model in ONNX needs an input column. Got a model that selected no features. Its "
            "predictions are constant; with_cut(...) may choose another step of its path."
        )
    register_onnx_converters()
    kind = types.DoubleTensorType if input_type == "double" else types.FloatTensorType
    is_classifier = hasattr(model, "classes_")
    options = {id(given): {"zipmap": False}} if is_classifier else None
    converted = skl2onnx.convert_sklearn(
        given,
        initial_types=[("X", kind([None, n_columns]))],
        target_opset=OPSETS,
        options=options,
    )
    entry = converted.metadata_props.add()
    entry.key, entry.value = "feature_names", json.dumps(names)
    return converted


def register_onnx_converters() -> None:
    """Make ``skl2onnx.convert_sklearn`` know the selectors, as models that predict.

    `to_onnx` does it. Call it to convert with the options of skl2onnx, or to convert an estimator
    that holds a selector at its end. In the middle of a pipeline a selector picks columns, which
    `to_onnx` arranges.
    """
    skl2onnx = _skl2onnx()
    picker = "SecateurSelectedColumns"
    skl2onnx.update_registered_converter(SelectedColumns, picker, _picked_shape, _pick_columns)
    kinds = [ReducedModel, *_subclasses(PathSelector)]
    for kind in kinds:
        skl2onnx.update_registered_converter(
            kind,
            f"Secateur{kind.__name__}",
            lambda operator: None,  # noqa: ARG005 - the parser names types and shapes
            _convert,
            parser=_declare,
            options={"zipmap": [True, False]},
        )


def _skl2onnx() -> Any:
    return import_optional("skl2onnx", "Export to ONNX", "secateur[export]")


def _subclasses(kind: type) -> list[type]:
    children: list[type] = kind.__subclasses__()
    return [kind, *(found for child in children for found in _subclasses(child))]


def _for_conversion(step: Any, *, is_last: bool) -> Any:
    """The same estimator, where selectors before the last step pick columns."""
    if isinstance(step, Pipeline):
        names = [name for name, _ in step.steps]
        is_end = [is_last and at == len(names) - 1 for at in range(len(names))]
        steps = [
            _for_conversion(each, is_last=at)
            for (_, each), at in zip(step.steps, is_end, strict=True)
        ]
        if any(each is not old for each, (_, old) in zip(steps, step.steps, strict=True)):
            step = copy.copy(step)
            step.steps = list(zip(names, steps, strict=True))
        return step
    if isinstance(step, PathSelector) and not (is_last and hasattr(step, "predict")):
        return SelectedColumns(np.flatnonzero(step.support_))
    return step


# ---- what skl2onnx asks of a converter --------------------------------------------------------


def _picked_shape(operator: Any) -> None:
    source = operator.inputs[0].type
    n_columns = len(operator.raw_operator.columns)
    operator.outputs[0].type = type(source)([source.shape[0], n_columns])


def _pick_columns(scope: Any, operator: Any, container: Any) -> None:
    nodes = Nodes(scope, container)
    columns = nodes.constant(np.asarray(operator.raw_operator.columns, np.int64))
    found = nodes.add("Gather", operator.inputs[0].full_name, columns, axis=1)
    nodes.add("Identity", found, output=operator.outputs[0].full_name)


def _declare(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:  # noqa: ARG001
    """Declare the outputs of a model and their types."""
    from skl2onnx._supported_operators import get_model_alias
    from skl2onnx.common import data_types as types

    if len(inputs) != 1:
        raise InputError(
            f"A selector takes one input of all columns. Got {len(inputs)} inputs. Join them "
            "before it, for instance by a ColumnTransformer."
        )
    fitted = read_fitted(model)
    operator = scope.declare_local_operator(get_model_alias(type(model)), model)
    operator.inputs = list(inputs)
    outputs = [("variable", types.DoubleTensorType([None, 1]))]
    if fitted.classes is not None:
        is_text = _label_array(fitted.classes).dtype.kind == "U"
        label = types.StringTensorType if is_text else types.Int64TensorType
        shape = [None, len(fitted.classes)]
        outputs = [("label", label([None])), ("probabilities", types.DoubleTensorType(shape))]
    for name, kind in outputs:
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _label_array(classes: AnyArray) -> AnyArray:
    """Classes as ONNX has them, whole numbers or text."""
    if all(isinstance(label, str) for label in classes.tolist()):
        return classes.astype(str)
    return classes.astype(np.int64)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a model, from the columns that it uses to its outputs."""
    fitted = read_fitted(operator.raw_operator)
    nodes = Nodes(scope, container)
    source = operator.inputs[0].full_name
    columns = nodes.constant(fitted.columns.astype(np.int64))
    cells = nodes.add("Cast", nodes.add("Gather", source, columns, axis=1), to=11)  # to double
    raw = _raw(nodes, fitted.model, cells)
    response = _response(nodes, fitted.model, raw)
    if fitted.classes is None:
        nodes.add("Identity", response, output=operator.outputs[0].full_name)
        return
    label, probabilities = (each.full_name for each in operator.outputs)
    place = nodes.add("ArgMax", response, axis=1, keepdims=0)
    nodes.add("Gather", nodes.constant(_label_array(fitted.classes)), place, axis=0, output=label)
    nodes.add("Identity", response, output=probabilities)


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of a graph, added one by one; results are the names of tensors."""

    scope: Any
    container: Any

    def add(
        self, kind: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any
    ) -> str:
        """Add a node and return the name of its output."""
        name = output or self.scope.get_unique_variable_name(kind.lower())
        self.container.add_node(
            kind,
            list(inputs),
            [name],
            op_domain=domain,
            op_version=OPSETS[domain] if domain else None,
            name=self.scope.get_unique_operator_name(kind),
            **attributes,
        )
        return name

    def constant(self, values: AnyArray) -> str:
        """Add a constant."""
        return self.add("Constant", value=_tensor(np.ascontiguousarray(values)))


def _tensor(values: AnyArray) -> Any:
    from onnx import helper, numpy_helper

    if values.dtype.kind == "U":
        return helper.make_tensor("", 8, values.shape, [each.encode() for each in values.tolist()])
    return numpy_helper.from_array(values)


# ---- models -----------------------------------------------------------------------------------


def _raw(nodes: Nodes, model: Any, cells: str) -> str:
    """Raw predictions of shape (n_rows, n_outputs)."""
    for kind, convert in CONVERTERS.items():
        if isinstance(model, kind):
            return convert(nodes, model, cells)
    raise InputError(
        f"A {type(model).__name__} cannot be converted to ONNX. Give a boosted or linear model."
    )


def _raw_of_trees(nodes: Nodes, model: BoostedModel, cells: str) -> str:
    by_output = list(zip(*tree_rounds(model), strict=True))
    baseline = model.ensemble.baseline
    if not len(model.features):  # each tree is one leaf
        sums = [sum(float(tree.value[0]) for tree in trees) for trees in by_output]
        return _repeated(nodes, baseline + np.array(sums), cells)
    attributes = _tree_attributes(model, by_output)
    summed = nodes.add("TreeEnsembleRegressor", cells, domain="ai.onnx.ml", **attributes)
    return nodes.add("Add", nodes.add("Cast", summed, to=11), nodes.constant(baseline))


def _repeated(nodes: Nodes, values: FloatArray, cells: str) -> str:
    """The same values for each row."""
    n_rows = nodes.add("Shape", cells, start=0, end=1)
    shape = nodes.add("Concat", n_rows, nodes.constant(np.array([len(values)])), axis=0)
    return nodes.add("Expand", nodes.constant(values[None, :]), shape)


def _tree_attributes(model: BoostedModel, by_output: list[Any]) -> dict[str, Any]:
    """Attributes of the operator TreeEnsembleRegressor; nodes are numbered within their tree."""
    trees = [tree for trees in by_output for tree in trees]
    sizes = [len(tree.left) for tree in trees]
    number = np.repeat(np.arange(len(trees)), sizes)
    place = np.concatenate([np.arange(size) for size in sizes])
    tree = Tree(*(np.concatenate(column) for column in zip(*trees, strict=True)))
    is_split = tree.left >= 0
    column = np.where(is_split, np.searchsorted(model.features, tree.feature), 0)
    return {
        "n_targets": len(by_output),
        "aggregate_function": "SUM",
        "post_transform": "NONE",
        "nodes_treeids": number.tolist(),
        "nodes_nodeids": place.tolist(),
        "nodes_modes": np.where(is_split, "BRANCH_LEQ", "LEAF").tolist(),
        "nodes_featureids": column.tolist(),
        "nodes_values_as_tensor": _tensor(np.where(is_split, tree.threshold, 0.0)),
        "nodes_truenodeids": np.where(is_split, tree.left, 0).tolist(),
        "nodes_falsenodeids": np.where(is_split, tree.left + 1, 0).tolist(),
        "nodes_missing_value_tracks_true": tree.missing_left.astype(int).tolist(),
        "target_treeids": number[~is_split].tolist(),
        "target_nodeids": place[~is_split].tolist(),
        "target_ids": (number[~is_split] // len(by_output[0])).tolist(),
        "target_weights_as_tensor": _tensor(tree.value[~is_split]),
    }


def _filled(nodes: Nodes, cells: str, fill: FloatArray) -> str:
    return nodes.add("Where", nodes.add("IsNaN", cells), nodes.constant(fill), cells)


def _affine(nodes: Nodes, cells: str, matrix: FloatArray, constant: FloatArray) -> str:
    product = nodes.add("MatMul", cells, nodes.constant(np.ascontiguousarray(matrix)))
    return nodes.add("Add", product, nodes.constant(constant))


def _raw_of_linear(nodes: Nodes, model: LinearModel, cells: str) -> str:
    if not len(model.features):
        return _repeated(nodes, model.at_centre, cells)
    centred = nodes.add("Sub", _filled(nodes, cells, model.fill), nodes.constant(model.centre))
    return _affine(nodes, centred, model.coef.T, model.at_centre)


def _raw_of_network(nodes: Nodes, model: NetworkModel, cells: str) -> str:
    net = model.network
    if not len(model.features):
        hidden = np.tanh(net.hidden_bias / 2.0)[:, None]
        return _repeated(nodes, net.outputs(hidden)[:, 0] * model.scale + model.offset, cells)
    matrix = np.zeros((len(model.features), net.n_units))
    matrix[np.searchsorted(model.features, net.feature), net.unit] = net.weight
    centred = nodes.add("Sub", _filled(nodes, cells, model.fill), nodes.constant(model.centre))
    standard = nodes.add("Mul", centred, nodes.constant(model.inverse))
    units = nodes.add("Tanh", _affine(nodes, standard, matrix / 2.0, net.hidden_bias / 2.0))
    feeds = (net.unit_output[:, None] == np.arange(len(net.output_bias))).astype(np.float64)
    constant = net.output_bias * model.scale + model.offset
    return _affine(nodes, units, feeds * model.scale, constant)


CONVERTERS: dict[type, Callable[..., str]] = {
    BoostedModel: _raw_of_trees,
    LinearModel: _raw_of_linear,
    NetworkModel: _raw_of_network,
}


def _response(nodes: Nodes, model: Any, raw: str) -> str:
    """Predictions on the scale of the target, as ``Loss.response``."""
    loss = model.ensemble.loss if isinstance(model, BoostedModel) else model.loss
    if loss.name == "log_loss":
        if loss.n_outputs > 1:
            return nodes.add("Softmax", raw, axis=1)
        both = nodes.add("Concat", nodes.add("Neg", raw), raw, axis=1)
        return nodes.add("Sigmoid", both)
    if loss.name == "poisson":
        limit = nodes.constant(np.array(300.0))
        return nodes.add("Exp", nodes.add("Clip", raw, nodes.add("Neg", limit), limit))
    return raw
