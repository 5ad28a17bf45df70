"""Prediction with the model folders of a run: of its own rows, or of new ones."""
