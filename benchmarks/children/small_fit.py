"""A small fit in a fresh process: its CPU seconds, import included, and the modules loaded."""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    import numpy as np

    from secateur import AGBMClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(569, 30))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    AGBMClassifier(penalty=0.001).fit(X, y)
    print(json.dumps({"cpu": time.process_time(), "modules": len(sys.modules)}))


if __name__ == "__main__":
    main()
