"""Prediction with the model folders of a run."""
