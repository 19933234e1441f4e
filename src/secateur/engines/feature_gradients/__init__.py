"""Feature Gradients: descent on an estimate of how much a set of features can explain."""
