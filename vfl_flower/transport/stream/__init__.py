"""Stream transport: one Flower message opens a gRPC session for all exchanges.

`server` and `session` are the active party's end, `client` is the passive party's;
`session_opener` sends the invitations through Flower, `run` has the transport, and `frames` is the
wire format.
"""
