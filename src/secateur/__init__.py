"""Feature selection that knows what features cost, and shows the whole path of its choices."""

import lazy_loader

__version__ = "0.1.0"

# The stub says where each public name is. A name is imported when it is first used, so that
# `import secateur` is quick and loads neither numba nor scikit-learn.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
