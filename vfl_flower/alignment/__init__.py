"""Which rows of the parties' tables are the same samples, found without showing an id."""
