"""The parts of the race of Feature Gradients."""
