"""One thread of BLAS, for several threads of ours at a time."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from secateur._kernels.threads import OneBlasThread


def blas_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_the_last_that_leaves_restores_the_number():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        first, second = OneBlasThread(), OneBlasThread()
        first.__enter__()
        second.__enter__()
        assert blas_threads() == {1}
        first.__exit__(None)
        assert blas_threads() == {1}
        second.__exit__()
        assert blas_threads() == before


def test_the_number_is_restored_after_an_error():
    before = blas_threads()
    with pytest.raises(ValueError, match="this"), OneBlasThread():
        raise ValueError("this")
    assert blas_threads() == before
