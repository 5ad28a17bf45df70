"""VFedMH, active party.

Wang et al. 2023, "VFedMH: Vertical Federated Learning for Training
Multi-party Heterogeneous Models", arXiv:2310.13367v1.

The first version of EASTER, whose Algorithm 1 it shares; notation as in `strategies.easter`.

Learns, Assumes, Costs
    As EASTER.
Deviates
    As EASTER, but for the loss: its Eq. 7 is the cross-entropy, from softmax of the logits.
"""

from .easter import Easter


class VFedMH(Easter):
    """EASTER with the cross-entropy."""

    default_loss = "cross-entropy"
