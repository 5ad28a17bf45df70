"""Active parties: one file per method, with a counterpart in `clients`."""
