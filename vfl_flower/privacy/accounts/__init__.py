"""Durable privacy accounts of a node's data sets, over all runs."""
