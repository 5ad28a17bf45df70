"""Label inference that completes a trained bottom model."""
