"""Vertical federated learning as a Flower application.

The nouns, each in the module of its name: a method is an `active.ActiveParty` and a
`passive.PassiveParty`; its protocol yields `exchange.ask` and `exchange.tell`; `roster`, `ledger`
and `checkpoint` serve it; `local` and `app` carry it; `config.RunConfig` sets it up and
`registry.METHODS` knows its `method_spec.MethodSpec` by name.
"""
