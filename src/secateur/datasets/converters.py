"""From the files of public sources to X and y, by format."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from typing import Any

import numpy as np

from secateur.typing import AnyArray

IDX_HEADER = {1: 8, 3: 16}  # bytes before the values of labels and of images


def read_mat(parts: list[bytes]) -> tuple[Any, AnyArray]:
    """One MATLAB file with X and y, in either case."""
    from scipy.io import loadmat
    from scipy.sparse import csr_matrix, issparse

    [content] = parts
    arrays = {name.lower(): array for name, array in loadmat(io.BytesIO(content)).items()}
    X, y = arrays["x"], np.asarray(arrays["y"]).ravel()
    return (csr_matrix(X) if issparse(X) else X), y


def read_csv(parts: list[bytes]) -> tuple[Any, AnyArray]:
    """Text of numbers between commas, the target in the last column."""
    table = np.vstack([np.loadtxt(io.BytesIO(part), delimiter=",", ndmin=2) for part in parts])
    return table[:, :-1], table[:, -1]


def read_svmlight(parts: list[bytes]) -> tuple[Any, AnyArray]:
    """Files of LIBSVM, below each other."""
    from scipy.sparse import vstack
    from sklearn.datasets import load_svmlight_files

    loaded = load_svmlight_files([io.BytesIO(part) for part in parts])
    return vstack(loaded[::2]).tocsr(), np.concatenate(loaded[1::2])


def read_idx(parts: list[bytes]) -> tuple[Any, AnyArray]:
    """Packed files of MNIST: images and labels in turn, below each other."""
    arrays = [_idx(gzip.decompress(part)) for part in parts]
    images = np.concatenate(arrays[::2])
    return images.reshape(len(images), -1), np.concatenate(arrays[1::2])


def _idx(content: bytes) -> AnyArray:
    n_axes = content[3]
    shape = np.frombuffer(content, ">u4", n_axes, 4)
    return np.frombuffer(content, np.uint8, offset=IDX_HEADER[n_axes]).reshape(shape.astype(int))


CONVERTERS: dict[str, Callable[[list[bytes]], tuple[Any, AnyArray]]] = {
    "mat": read_mat,
    "csv": read_csv,
    "svmlight": read_svmlight,
    "idx": read_idx,
}
