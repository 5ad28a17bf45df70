"""Request automaton of a passive party."""
