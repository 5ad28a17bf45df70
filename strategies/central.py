"""Central training: one network on all columns, the upper baseline.

    R = p(h(x)),   x all columns of all parties, before they were split
    p and h descend loss(R, y)

It is `Local` at an active party that holds everything. Only a simulation can do that; between
machines it is refused before anything starts.

Learns
    *Active: every column of everybody.* Passive k: nothing; it answers the roll call.
Assumes
    That there is no secret between the parties at all.
Deviates
    There is no paper to deviate from.
Costs
    No exchange. Columns are not sent but read where they lie, so no byte is counted.
"""

from .local import Local


class Central(Local):
    """The active party's network, built for all columns."""
