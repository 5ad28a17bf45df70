"""Public interface for strategies and clients."""
