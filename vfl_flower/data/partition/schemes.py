"""Split features over parties by the scheme of a partition spec."""

from vfl_flower.common.names import load_object
from vfl_flower.config.partition_spec import SCHEMES, PartitionSpec
from vfl_flower.data.columns import Features
from vfl_flower.data.partition.shares import Share


def shares_by(spec: PartitionSpec, features: Features, parties: int, seed: int) -> list[Share]:
    """Split (N, ...) features over so many parties.

    Raises
    ------
    DataError
        If they cannot be split so.
    """
    split = load_object(SCHEMES[spec.name].split)
    made: list[Share] = split(features, spec.total or parties, spec.argument, seed)
    return [made[number] for number in spec.kept] if spec.kept else made
