"""Own tables whose rows not all parties have."""
