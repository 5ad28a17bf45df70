"""How much each party of a run counts for its prediction."""
