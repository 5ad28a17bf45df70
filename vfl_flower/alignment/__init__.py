"""Entity alignment: common rows of all tables by private set intersection."""
