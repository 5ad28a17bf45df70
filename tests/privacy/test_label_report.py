"""Limits that the report of label privacy states."""

import pytest

from vfl_flower.config.run_config import RunConfig
from vfl_flower.privacy.label_dp.training_labels import label_report


@pytest.mark.parametrize("split", ["random", "stratified", "grouped", "time"])
def test_a_split_told_without_noise_is_excluded(split: str) -> None:
    cfg = RunConfig(
        dataset="own",
        tables="a.toml,b.toml,c.toml",
        parties=3,
        models="mlp",
        label_privacy="alibi",
        label_epsilon=2.0,
        split=split,
    )
    report = label_report(cfg)
    assert report is not None
    assert ("part in the split" in report["does_not_cover"]) == (split in {"grouped", "time"})
