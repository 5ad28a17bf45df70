"""An alignment that a party leaves."""

from unittest.mock import Mock

import pytest

from vfl_flower.common.errors import PartyAway
from vfl_flower.workflows.align import carried_out


def test_an_alignment_that_a_party_leaves_says_how_to_go_on() -> None:
    active = Mock()
    transport = Mock(run=Mock(side_effect=PartyAway("party-2 is gone")))
    with pytest.raises(PartyAway, match="party-2 is gone; resume the run once it is back"):
        carried_out(active, transport)
    active.close.assert_called_once_with()
