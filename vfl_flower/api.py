"""Public interface of methods: the nouns that `strategies` and `clients` import.

=================  ===========================================================================
`ActiveParty`      holds the labels and runs a method's protocol
`PassiveParty`     holds columns and answers the phases of a protocol
`Party`            what both have: data, a network, an optimizer
`Protocol`         a generator of requests: `ask`, `ask_each`, `tell`, `tell_each`
`Replies`          the answers to one request, in the order of ranks
`Component`        phases with a memory, of which a passive party is composed; `phase` marks one
`RunConfig`        the configuration of a run
`MethodSpec`       a method's entry in the registry
`Transport`        how exchanges travel
`PartyData`        the data of one party
=================  ===========================================================================
"""

from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.party_data import PartyData
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.components import Component, phase
from vfl_flower.protocol.exchange import Protocol, Replies, ask, ask_each, tell, tell_each
from vfl_flower.protocol.transport import Transport

__all__ = [
    "ActiveParty",
    "Component",
    "MethodSpec",
    "Party",
    "PartyData",
    "PassiveParty",
    "Protocol",
    "Replies",
    "RunConfig",
    "Transport",
    "ask",
    "ask_each",
    "phase",
    "tell",
    "tell_each",
]
