"""Networks of parties: bottom and top models."""
