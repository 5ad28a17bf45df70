"""One script per table; each prints its table, `results.md` keeps them with date and machine."""
