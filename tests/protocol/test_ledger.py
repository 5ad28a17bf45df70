"""Ledgers of earlier attempts and earlier versions."""

from vfl_flower.protocol.ledger import DOWN, Ledger


def booked(purpose: str) -> Ledger:
    """Return a ledger with one request of three bytes and its reply."""
    ledger = Ledger()
    ledger.payload[("party-1", purpose, "checkpoint", DOWN)] = 3
    ledger.framing[("party-1", purpose, "checkpoint", DOWN)] = 2
    ledger.exchanges[purpose] = 1
    ledger.uploads["party-1"] = 4
    return ledger


def test_a_ledger_goes_on_where_an_attempt_ended() -> None:
    ledger = booked("control")
    ledger.carry_over(booked("control").state_dict())
    assert ledger.total(DOWN, "control") == 10
    assert ledger.exchanges == {"control": 2}
    assert ledger.uploads == {"party-1": 8}


def test_a_ledger_of_an_earlier_version_is_read() -> None:
    """Its control traffic had another name."""
    ledger = Ledger()
    ledger.carry_over(booked("upkeep").state_dict())
    assert ledger.state_dict() == booked("control").state_dict()
