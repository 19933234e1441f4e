"""``python -m secateur``: the same as the command ``secateur``."""

from __future__ import annotations

import sys

from secateur.cli import main

if __name__ == "__main__":
    sys.exit(main())
