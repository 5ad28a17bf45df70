"""New parties join trained models."""
