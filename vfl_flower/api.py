"""Public interface of methods: ten nouns, their verbs, and tools.

The nouns:

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

Tools of methods:

=================  ===========================================================================
`Tape`             the forward passes of a passive party's steps, run backward later
`Answer`           the type of what a phase returns
`Upload`           values on their way out, with a weight of their own
`Value`            one array of a request or a reply
`Purpose`          what an exchange is for, in the ledger: training, evaluation, control
`Lessons`          training labels and their loss at a passive party that is given labels
`noise_of`         the run's label mechanism, or None
`received`         labels as they travelled, made training labels again
`agree_keys`       passive parties agree on the keys of pairwise masks
`train`            all epochs, step by step, with evaluations and checkpoints
`stage`            training before the steps, shown and resumed
`checkpoint`       all parties write their states
`check_finite`     refuses losses that are not finite
`interrupted`      the error of a stopped run
`known_run`        the number of the run that a party's folder is of
`register`         a method of one's own becomes known to this process
=================  ===========================================================================

Words in which a `phase` declares its arrays (`vfl_flower.protocol.automaton.arrays`):

=================  ===========================================================================
`rows`             row numbers, by the run's public plan
`floats`           finite numbers
`activations`      the same, of a forward pass
`gradient`         a loss's gradient, which a defence of gradients changes
`gradients`        the same, in a layout that the party knows
`residual`         a loss's gradient at the outputs
`integers`         whole numbers
`number`           one whole number
`octets`           bytes
`labels`           training labels, as the run publishes them
`weights`          the weights of a network
`messages`         arrays in another layout that the party knows
`RING_LIMIT`       magnitude below which sums are, in the ring of masks
=================  ===========================================================================

`strategies/specs` declares methods and imports from `vfl_flower.config` instead: this module
imports torch, and a declaration does not.
"""

from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.validation.own_method import register
from vfl_flower.crypto.fixed_point import LIMIT as RING_LIMIT
from vfl_flower.data.party_data import PartyData
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.parties.persistence.run_identity import known_run
from vfl_flower.parties.residuals import residual
from vfl_flower.parties.tape import Tape
from vfl_flower.privacy.label_dp.training_labels import Lessons, noise_of, received
from vfl_flower.privacy.secure_aggregation import agree_keys
from vfl_flower.protocol.automaton.arrays import (
    activations,
    floats,
    gradient,
    gradients,
    integers,
    labels,
    messages,
    number,
    octets,
    rows,
    weights,
)
from vfl_flower.protocol.components import Answer, Component, phase
from vfl_flower.protocol.exchange import (
    Protocol,
    Purpose,
    Replies,
    Value,
    ask,
    ask_each,
    tell,
    tell_each,
)
from vfl_flower.protocol.transport import Transport
from vfl_flower.protocol.uploads import Upload
from vfl_flower.training.checkpointing import checkpoint
from vfl_flower.training.loop import stage, train
from vfl_flower.training.stopping import check_finite, interrupted

__all__ = [
    "RING_LIMIT",
    "ActiveParty",
    "Answer",
    "Component",
    "Lessons",
    "MethodSpec",
    "Party",
    "PartyData",
    "PassiveParty",
    "Protocol",
    "Purpose",
    "Replies",
    "RunConfig",
    "Tape",
    "Transport",
    "Upload",
    "Value",
    "activations",
    "agree_keys",
    "ask",
    "ask_each",
    "check_finite",
    "checkpoint",
    "floats",
    "gradient",
    "gradients",
    "integers",
    "interrupted",
    "known_run",
    "labels",
    "messages",
    "noise_of",
    "number",
    "octets",
    "phase",
    "received",
    "register",
    "residual",
    "rows",
    "stage",
    "tell",
    "tell_each",
    "train",
    "weights",
]
