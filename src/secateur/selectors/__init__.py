"""The estimators that users meet: thin classes with scikit-learn's conventions."""
