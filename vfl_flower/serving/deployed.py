"""A service whose parties are the nodes of a Flower run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.layout import NETWORK, model_of
from vfl_flower.common.names import party_name
from vfl_flower.config.node_config import home, told_of
from vfl_flower.config.validation.system import NAME, check_free
from vfl_flower.data.loading import Alignments, run_data
from vfl_flower.protocol.transport import Transport
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.serving.options import DeployedOptions
from vfl_flower.serving.service import Stamp, stamp_of
from vfl_flower.serving.term import Term
from vfl_flower.workflows.align import Aligned
from vfl_flower.workflows.trained_parties import predicting_active, prediction_of


class DeployedRun:
    """Source of terms: a Flower run with ``task = serve``.

    The new tables are aligned once, when the first model is loaded. The service's file may name
    another model later, by the run-name of its run, which every party has in its own state folder.

    Parameters
    ----------
    folder : RunFolder
        Of the run with ``task = serve``.
    transport : callable
        Builds a transport to the nodes from a configuration and the options that they are told.
    align : callable
        Carries out the alignment over a transport.
    """

    def __init__(
        self,
        folder: RunFolder,
        transport: Callable[..., Transport],
        align: Callable[[Transport], Aligned],
    ) -> None:
        self._folder, self._cfg = folder, folder.cfg
        self._transport, self._align = transport, align
        self._alignments: Alignments | None = None

    def stamp(self) -> Stamp:
        """Fingerprint the model that the service's file names now."""
        return stamp_of(model_of(self._model() / party_name(0)) / NETWORK)

    def term(self) -> Term:
        """Load the active party's part of the model, for the nodes' sessions.

        Raises
        ------
        VflError
            If the file or the model cannot be used, or no row is common to all parties.
        """
        options, model = self._options(), self._model()
        asked = replace(self._cfg, model=str(model))
        told = told_of(asked, simulation=False, own=self._folder.path)
        transport = self._transport(cfg=asked, options=told)
        cfg = prediction_of(asked, 0, model, trust_code=True)  # it is in its own state folder
        if self._alignments is None:
            self._folder.cfg = cfg
            self._alignments = self._align(transport).alignments
        # who keeps all requests waiting longer than they wait counts as away
        cfg = replace(cfg, answer_timeout=min(cfg.answer_timeout, options.timeout))
        active = predicting_active(cfg, run_data(cfg, self._alignments))
        active.session_life = options.session_life
        return Term(active, transport, options.session_life)

    def _options(self) -> DeployedOptions:
        return DeployedOptions.load(Path(self._cfg.service))

    def _model(self) -> Path:
        """Return the folder of the run whose model is to predict."""
        name = self._options().model
        if not name:
            return Path(self._cfg.model)
        if not NAME.fullmatch(name):
            raise ConfigError(f"model must be the run-name of the run that trained, not '{name}'")
        check_free("model", name)
        return home() / name
