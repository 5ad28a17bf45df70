"""The stream carrier: one Flower message opens a session, exchanges travel inside it over gRPC.

`hub` and `session` are the active party's end, `guest` is the passive party's; `opening` sends the
invitations through Flower, and `carry` runs a protocol over the sessions. `frame` is what travels.
"""
