"""Flower clients of a passive party: live, or rebuilt for every message."""

from collections.abc import Callable
from secrets import token_bytes

from flwr.app import Array as FlowerArray
from flwr.app import ArrayRecord, ConfigRecord, RecordDict
from flwr.client import Client
from flwr.common import Code, FitIns, FitRes, GetPropertiesIns, GetPropertiesRes, Status

from vfl_flower.common.codec import decode, encode, from_parameters, to_parameters
from vfl_flower.common.errors import ProtocolError
from vfl_flower.common.state import State, pack, unpack
from vfl_flower.protocol.client import ProtocolClient
from vfl_flower.protocol.components import report
from vfl_flower.transport.exchange_claims import ATTEMPT, claim

OK = Status(Code.OK, "")
ARRAYS, _SKELETON = "vfl-flower.arrays", "vfl-flower.skeleton"  # records of context.state


class Endpoint(Client):
    """Serves a live party through this package's codec, faster than Flower's."""

    def __init__(self, party: ProtocolClient) -> None:
        self.party = party

    def get_properties(self, ins: GetPropertiesIns) -> GetPropertiesRes:
        """Answer the roll call."""
        return GetPropertiesRes(OK, self.party.get_properties(ins.config))

    def fit(self, ins: FitIns) -> FitRes:
        """Answer one exchange."""
        try:
            with self.party.profile.doing("codec"):
                arrays = from_parameters(ins.parameters)
            reply, rows, metrics = self.party.fit(arrays, ins.config)
            with self.party.profile.doing("codec"):
                return FitRes(OK, to_parameters(reply), rows, metrics)
        except Exception as error:
            return failed(error, self.party.rank)


class RebuiltEndpoint(Client):
    """Serves a party that is rebuilt for every message.

    Between messages the party's memory lives in `state`, the only thing that Flower keeps.

    Parameters
    ----------
    build : callable
        Makes the party as it is before its first message.
    rank : int
        1 to K, for the case that it cannot be built.
    state : RecordDict
        ``context.state``.
    """

    def __init__(self, build: Callable[[], ProtocolClient], rank: int, state: RecordDict) -> None:
        self.build, self.rank, self.state = build, rank, state

    def get_properties(self, ins: GetPropertiesIns) -> GetPropertiesRes:
        """Answer the roll call, or report why the party cannot be built.

        An attempt begins with it, and remembers nothing of an earlier one.
        """
        self.state.array_records.pop(ARRAYS, None)
        self.state.config_records.pop(_SKELETON, None)
        try:
            return Endpoint(self.build()).get_properties(ins)
        except Exception as error:
            return GetPropertiesRes(OK, {"rank": self.rank, **report(error, self.rank)})

    def fit(self, ins: FitIns) -> FitRes:
        """Rebuild the party, restore its memory, answer, and save the memory."""
        try:
            party, attempt = self.build(), self._attempt()
            if ARRAYS in self.state.array_records:
                party.recall(self._read())
            _claim(party, attempt, ins.config.get("exchange"))
            res = Endpoint(party).fit(ins)
            self._write(party.memory(), attempt)
        except Exception as error:
            return failed(error, self.rank)
        return res

    def _attempt(self) -> bytes:
        """Return the attempt's number, which stays with the memory of its keys."""
        kept = self.state.config_records.get(_SKELETON)
        return bytes.fromhex(str(kept["attempt"])) if kept else token_bytes(ATTEMPT)

    def _read(self) -> State:
        arrays = {n: decode(a.data) for n, a in self.state.array_records[ARRAYS].items()}
        return unpack(arrays, str(self.state.config_records[_SKELETON]["skeleton"]))

    def _write(self, memory: State, attempt: bytes) -> None:
        arrays, skeleton = pack(memory)
        self.state.array_records[ARRAYS] = ArrayRecord(
            {
                name: FlowerArray(str(a.dtype), a.shape, "numpy.ndarray", encode(a))
                for name, a in arrays.items()
            }
        )
        self.state.config_records[_SKELETON] = ConfigRecord(
            {"skeleton": skeleton, "attempt": attempt.hex()}
        )


def _claim(party: ProtocolClient, attempt: bytes, exchange: object) -> None:
    """Claim an exchange's number, which another message may have claimed.

    A number that is none, or not above the last one, is refused by the party.
    """
    if type(exchange) is not int or not party.exchange < exchange < 2**63:
        return
    earlier = claim(party.folder, attempt, exchange)
    if exchange <= earlier:
        raise ProtocolError(
            f"exchange {exchange} comes after exchange {earlier}, which another message has begun"
        )


def failed(error: Exception, rank: int) -> FitRes:
    """Answer an exchange with an error."""
    return FitRes(OK, to_parameters([]), 0, report(error, rank))
