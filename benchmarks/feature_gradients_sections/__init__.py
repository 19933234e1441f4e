"""The parts of the benchmark of Feature Gradients."""
