"""How gradients go to passive parties, and their sums come back."""
