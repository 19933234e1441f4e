"""The rules of ARCHITECTURE.md, read from the source with ``ast``: a check gives complaints."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "secateur"

# Imports point from a higher number to a lower one, or stay in the same package.
LAYERS = {
    "typing": 0,
    "exceptions": 0,
    "_kernels": 1,
    "data": 2,
    "storage": 3,
    "losses": 3,
    "path": 3,
    "execution": 4,
    "engines": 5,
    "model_selection": 6,
    "selectors": 7,
    "report": 8,
    "export": 8,
    "cli": 9,
    "__main__": 10,
}
# Packages that may know less than their layer would allow.
ONLY = {
    "path": {"typing", "exceptions"},
    "losses": {"_kernels", "typing", "exceptions"},
    "report": {"path", "model_selection", "typing", "exceptions"},
    "datasets": {"typing", "exceptions"},
}
# Modules that know one package more: a report reads the table while it gathers evidence only.
BESIDES = {"secateur.report.from_data": {"data", "export"}}
MAY_USE_DATASETS = {"cli", "datasets"}
SHARED_BY_ENGINES = {"drive", "fold_losses", "path_search", "limits", "linear_scorer"}
# Loaded only when used, so never at the top of a module.
OPTIONAL = {
    "pandas",
    "polars",
    "pyarrow",
    "dask",
    "distributed",
    "matplotlib",
    "plotly",
    "jinja2",
    "lightgbm",
    "boruta",
    "onnx",
    "skl2onnx",
    "shap",
    "optuna",
}

MODULE_LINES = 400
FUNCTION_LINES = 40
KERNEL_LINES = 60  # a loop nest that numba compiles as one


@dataclass(frozen=True)
class Import:
    """One imported module, where it stands and whether it is loaded with its module."""

    name: str
    line: int
    at_top: bool
    only_types: bool


@dataclass(frozen=True)
class Module:
    """One file of the package, parsed."""

    file: Path
    parts: tuple[str, ...]
    tree: ast.Module
    n_lines: int

    @property
    def room(self) -> str:
        """The folder or module right under the package; "" for the package itself."""
        return self.parts[0] if self.parts else ""

    @property
    def name(self) -> str:
        return ".".join((PACKAGE, *self.parts))


def read_package(root: Path) -> list[Module]:
    """Parse every module under ``root``, the folder of the package."""
    modules = []
    for file in sorted(root.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        parts = file.relative_to(root).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        modules.append(Module(file, parts, ast.parse(text), len(text.splitlines())))
    return modules


def imports_of(module: Module) -> Iterator[Import]:
    """Yield each import; ``from secateur import path`` counts as ``secateur.path``."""
    for node, at_top, only_types in _walk(module.tree, at_top=True, only_types=False):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, at_top, only_types)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for name in _imported_from(node):
                yield Import(name, node.lineno, at_top, only_types)


def _imported_from(node: ast.ImportFrom) -> list[str]:
    assert node.module is not None
    if node.module == PACKAGE or node.module == f"{PACKAGE}.engines":
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return [node.module]


def _walk(node: ast.AST, *, at_top: bool, only_types: bool) -> Iterator[tuple[ast.AST, bool, bool]]:
    for child in ast.iter_child_nodes(node):
        yield child, at_top, only_types
        in_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for part in child.body:
                yield part, at_top, True
                yield from _walk(part, at_top=at_top, only_types=True)
            for part in child.orelse:
                yield part, at_top, only_types
                yield from _walk(part, at_top=at_top, only_types=only_types)
        else:
            yield from _walk(child, at_top=at_top and not in_function, only_types=only_types)


# ---- imports ----------------------------------------------------------------------------------


def check_layers(module: Module) -> Iterator[str]:
    """Imports inside the package point down, and a room knows no more than it may."""
    if not module.parts:  # the lazy front door names them all
        return
    if module.room not in LAYERS and module.room != "datasets":
        yield f"{module.name}: '{module.room}' has no place in the layers; give it one"
        return
    for found in imports_of(module):
        target = found.name.split(".")
        if target[0] == PACKAGE:
            room = target[1] if len(target) > 1 else ""
            complaint = _layer_complaint(module.room, room)
            if complaint and room not in BESIDES.get(module.name, ()):
                yield f"{module.name}:{found.line} imports {found.name}: {complaint}"


def _layer_complaint(room: str, target: str) -> str:
    if target in {room, "__version__"}:
        return ""
    if target == "datasets":
        return "" if room in MAY_USE_DATASETS else "nothing but cli uses the data sets"
    if target not in LAYERS:
        return "import from the module that holds it, not through the front door"
    if room in ONLY:
        return "" if target in ONLY[room] else f"'{room}' may use {sorted(ONLY[room])} only"
    if LAYERS[target] >= LAYERS[room]:
        return f"'{target}' is not below '{room}'"
    return ""


def checkengines(module: Module) -> Iterator[str]:
    """Engines know neither scikit-learn nor each other."""
    if module.room != "engines":
        return
    engine = module.parts[1] if len(module.parts) > 1 else ""
    for found in imports_of(module):
        target = found.name.split(".")
        if target[0] == "sklearn":
            yield f"{module.name}:{found.line} imports {found.name}: engines know no scikit-learn"
        if target[:2] == [PACKAGE, "engines"] and len(target) > 2:
            other = target[2]
            if other not in {engine, *SHARED_BY_ENGINES} and engine not in {"", *SHARED_BY_ENGINES}:
                yield f"{module.name}:{found.line} imports {found.name}: engines know no other"


def check_libraries(module: Module) -> Iterator[str]:
    """Each library is loaded where it is allowed to be."""
    for found in imports_of(module):
        library = found.name.split(".")[0]
        complaint = _library_complaint(module.room, library, found)
        if complaint:
            yield f"{module.name}:{found.line} imports {found.name}: {complaint}"


def _library_complaint(room: str, library: str, found: Import) -> str:
    is_ours = library == PACKAGE or library in sys.stdlib_module_names
    if found.only_types or is_ours:
        return ""
    if library == "numba" and room != "_kernels":
        return "numba lives in _kernels only"
    if not found.at_top:
        return ""
    if library in OPTIONAL:
        return "optional libraries are imported inside the function that needs them"
    allowed = "numpy" if room else "lazy_loader"
    if room in {"path", "typing", "exceptions", ""} and library != allowed:
        return f"'{room or PACKAGE}' loads {allowed} and the standard library only"
    if room == "datasets" and library not in {"numpy", "sklearn"}:
        return "'datasets' loads numpy and scikit-learn only"
    return ""


def check_absolute(module: Module) -> Iterator[str]:
    """No import begins with a dot."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            yield f"{module.name}:{node.lineno} has a relative import; name the module in full"


# ---- form -------------------------------------------------------------------------------------


def check_docstring(module: Module) -> Iterator[str]:
    """Each module states its idea in its first line."""
    docstring = ast.get_docstring(module.tree, clean=False)
    if docstring is None or not docstring.splitlines()[:1] or not docstring.splitlines()[0].strip():
        yield f"{module.name} does not state its idea in the first line of a docstring"


def check_module_length(module: Module) -> Iterator[str]:
    if module.n_lines > MODULE_LINES:
        yield f"{module.name} has {module.n_lines} lines, more than {MODULE_LINES}"


def check_function_length(module: Module) -> Iterator[str]:
    """Functions are short; docstrings and the functions inside are not counted."""
    limit = KERNEL_LINES if module.room == "_kernels" else FUNCTION_LINES
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            n_lines = _code_lines(node)
            if n_lines > limit:
                where = f"{module.name}:{node.lineno} {node.name}"
                yield f"{where} has {n_lines} lines, more than {limit}"


def _code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement to the last, without the docstring.

    The signature is not counted: a constructor may need a line for each parameter.
    """
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    if not body:
        return 0
    n_lines = (body[-1].end_lineno or 0) - body[0].lineno + 1
    inner = [n for n in body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return n_lines - sum((n.end_lineno or 0) - n.lineno + 1 for n in inner)


def check_print(module: Module) -> Iterator[str]:
    """The library does not print."""
    if module.room == "cli":
        return
    for node in ast.walk(module.tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "print"
        ):
            yield f"{module.name}:{node.lineno} prints; the library is silent"


CHECKS = (
    check_layers,
    checkengines,
    check_libraries,
    check_absolute,
    check_docstring,
    check_module_length,
    check_function_length,
    check_print,
)


def complaints(root: Path) -> list[str]:
    """All that breaks the rules in the package under ``root``."""
    return [
        complaint
        for module in read_package(root)
        for check in CHECKS
        for complaint in check(module)
    ]
