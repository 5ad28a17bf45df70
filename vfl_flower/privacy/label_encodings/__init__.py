"""Encodings of labels as soft ones, without a guarantee."""
