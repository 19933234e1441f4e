"""Seconds of an import in a fresh process, and what it loads."""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    start = time.perf_counter()
    import secateur

    package = time.perf_counter() - start
    loaded = sorted({"numba", "sklearn", "scipy", "numpy", "pandas"} & set(sys.modules))
    secateur.AGBMClassifier  # noqa: B018 - the first look at a name imports it
    print(
        json.dumps(
            {
                "package": package,
                "selector": time.perf_counter() - start,
                "loaded": loaded,
            }
        )
    )


if __name__ == "__main__":
    main()
