"""Active and passive parties."""
