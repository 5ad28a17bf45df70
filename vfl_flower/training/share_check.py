"""Check of the parties' shares of sums, as a sub-protocol.

See `vfl_flower.privacy.sum_shares.component`.
"""

import numpy as np

from vfl_flower.common.errors import PartyError
from vfl_flower.parties.active import ActiveParty
from vfl_flower.protocol.exchange import Protocol, ask, ask_each


def check_shares(party: ActiveParty) -> Protocol:
    """Relay the variances of uploads since the last check, if any.

    Raises
    ------
    PartyError
        If a party's share is above its limit, or not all were told the same variances.
    """
    progress, exchanges = party.progress, party.ledger.exchanges["training"]
    if not party.cfg.shares_checked or exchanges == progress.checked_exchanges:
        return
    sealed = yield ask("seal_variances", purpose="control")
    rows = np.stack(sealed.singles)  # of each sender, for each receiver
    replies = yield ask_each("check_share", [*rows.swapaxes(0, 1)], purpose="control")
    told = {int(each) for each in replies.singles}
    if len(told) > 1:
        raise PartyError(
            f"the passive parties name {len(told)} different largest shares of the sum: one of "
            "them told others different variances"
        )
    progress.shares += told
    progress.checked_exchanges = exchanges
