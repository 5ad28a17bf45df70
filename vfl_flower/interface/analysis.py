"""Predictions, pages, explanations and attacks of complete runs."""

import warnings
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from vfl_flower.analysis.explain.choices import How
from vfl_flower.analysis.explain.importance import heads_of
from vfl_flower.analysis.explain.noise import SIGMA, check_noise
from vfl_flower.analysis.explain.overview import explain_columns, explain_parties
from vfl_flower.analysis.explain.trained import check_heads, complete_run
from vfl_flower.common.errors import ConfigError
from vfl_flower.common.layout import tables_in
from vfl_flower.common.optional.extras import require
from vfl_flower.config.schema import check_name
from vfl_flower.interface.checks import check_number, check_text
from vfl_flower.interface.data.labels import type_labels
from vfl_flower.interface.data.source import OwnTables
from vfl_flower.reporting.html.place import check_page
from vfl_flower.reporting.html.story import read_stories
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.local.predict import predict_rows, predict_tables
from vfl_flower.workflows.local.watch import Watch
from vfl_flower.workflows.prediction import missing_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_FILE = "predictions.parquet"
_OF_HEADS = {
    "norm": "norm",
    "relative": "relative",
    "noise_accuracy": "accuracy",
    "noise_drop": "drop",
}
"""Columns of an explanation, with the fields of heads that they hold."""

_ATTACKS = {"labels": 3, "reconstruct": 5, "card": 3}
"""Attacks, with the epochs that they train unless the caller says otherwise."""


def predicted_rows(run: Path, rows: str, trust_code: bool, **kept: Any) -> "pd.DataFrame":  # noqa: ANN401
    """Predict rows of a run's own data; see `predict_rows`."""
    # pandas is slow to import
    import pandas as pd

    with TemporaryDirectory(prefix="vfl-flower-") as temporary:
        file = Path(temporary) / _FILE
        predict_rows(run, rows, file, trust_code, **kept)
        return _typed(pd.read_parquet(file), run, trust_code)


def predicted_tables(
    run: Path,
    source: OwnTables,
    watch: Watch,
    trust_code: bool,
    **kept: Any,  # noqa: ANN401
) -> "pd.DataFrame":
    """Predict the rows of new tables; see `predict_tables`.

    A warning counts rows that some party lacks, and ``attrs["missing"]`` names them.
    """
    # pandas is slow to import
    import pandas as pd

    with TemporaryDirectory(prefix="vfl-flower-") as temporary:
        folder, file = Path(temporary), Path(temporary) / _FILE
        source.write(folder)
        tables = tables_in(folder, source.names)
        made = predict_tables(run, tables, file, watch, trust_code, **kept)
        frame = _typed(pd.read_parquet(file), run, trust_code)
        if made.missing:
            frame.attrs["missing"] = pd.read_parquet(missing_of(file)).to_dict("list")
    if made.missing:
        warnings.warn(
            f"{made.missing} rows are not at all parties, and have no prediction; "
            'attrs["missing"] names them',
            stacklevel=3,
        )
    return frame


def _typed(frame: "pd.DataFrame", run: Path, trust_code: bool) -> "pd.DataFrame":
    """Give predictions the type of the run's labels."""
    type_labels(frame, RunFolder.reopen(run, {}, trust_code).cfg)
    return frame


def plotted(run: Path) -> "Figure":
    """Draw the curves of a run; see `vfl_flower.interface.run.Run.plot`."""
    require("matplotlib", "plot")
    # matplotlib is slow to import
    from vfl_flower.reporting.figure_style import styled
    from vfl_flower.reporting.html.figures import draw_curves

    (story,) = read_stories([run])
    with styled(3) as (figure, panels):
        draw_curves(panels, story)
    return figure


def reported(run: Path, place: Path) -> Path:
    """Write a page about a run; see `vfl_flower.interface.run.Run.report`."""
    check_page(place)
    require("matplotlib", "report")
    # matplotlib is slow to import
    from vfl_flower.reporting.html.page import write_page

    write_page(read_stories([run]), place)
    return place


def explained(
    run: Path, party: str | None, noise: float | None, how: How, trust_code: bool
) -> "pd.DataFrame":
    """Explain a run; see `vfl_flower.interface.run.Run.explain`."""
    check_text(how.rows, "rows")
    check_number(how.repeats, "repeats", whole=True)
    check_text(how.metric, "metric")
    how.check()
    if party is None:
        return _explained_parties(run, noise, how, trust_code)
    check_text(party, "party")
    if noise is not None:
        raise ConfigError("noise is about all parties, and party asks for the columns of one")
    return _explained_columns(run, party, how, trust_code)


def _explained_parties(
    run: Path, noise: float | None, how: How, trust_code: bool
) -> "pd.DataFrame":
    """Explain all parties."""
    # pandas is slow to import
    import pandas as pd

    sigma = SIGMA if noise is None else noise
    check_number(sigma, "noise")
    check_noise(sigma)
    folder, recorded = complete_run(run, trust_code)
    check_heads(folder.cfg, "" if noise is None else "noise")
    heads = heads_of(folder, sigma)
    told = explain_parties(folder, how).told("party")
    frame = pd.DataFrame(told.pop("parties"))
    told |= {"method": folder.cfg.method, "dataset": folder.cfg.dataset, "recorded": recorded}
    if heads:
        told |= {"noise": sigma, "correlation": heads.findings.correlation}
        for name, field in _OF_HEADS.items():
            frame[name] = [getattr(each, field) for each in heads.findings.parties]
    frame.attrs |= told
    return frame


def _explained_columns(run: Path, party: str, how: How, trust_code: bool) -> "pd.DataFrame":
    """Explain one party's columns."""
    # pandas is slow to import
    import pandas as pd

    folder, _ = complete_run(run, trust_code)
    told = explain_columns(folder, party, how).told("column")
    frame = pd.DataFrame(told.pop("columns"))
    frame.attrs |= told | {"party": party}
    return frame


def audited(
    run: Path, attack: str, epochs: int | None, known: int, trust_code: bool
) -> dict[str, Any]:
    """Attack a run; see `vfl_flower.interface.run.Run.audit`."""
    check_text(attack, "attack")
    check_name("attack", attack, _ATTACKS)
    epochs = _ATTACKS[attack] if epochs is None else epochs
    for name, number in (("epochs", epochs), ("known", known)):
        check_number(number, name, whole=True)
        if number < 1:
            raise ConfigError(f"{name} must be at least 1, not {number}")
    if attack == "labels":
        # scikit-learn is slow to import
        from vfl_flower.analysis.audit.label_inference import audit

        return asdict(audit(run, epochs, known, trust_code))
    if attack == "card":
        # scikit-learn is slow to import
        from vfl_flower.analysis.audit.card import Terms, leakage_card

        return leakage_card(run, Terms(epochs, known), trust_code)
    require("skimage", "audit reconstruct")
    # scikit-image is slow to import
    from vfl_flower.analysis.audit.feature_reconstruction import attack as reconstruct
    from vfl_flower.analysis.audit.feature_reconstruction import runs_with_maps

    (folder,) = runs_with_maps([run], trust_code)
    findings, _ = reconstruct(folder, epochs)
    return findings.told()
