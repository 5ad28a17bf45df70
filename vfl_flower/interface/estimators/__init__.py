"""Estimators in scikit-learn's sense, for research on one table."""
