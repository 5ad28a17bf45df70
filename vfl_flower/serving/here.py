"""A service with all parties of a run on this machine."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from vfl_flower.common.layout import NETWORK, model_of
from vfl_flower.common.names import party_name
from vfl_flower.learning.networks.trusted_code import check_trusted
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.runs.party_logs import party_logs
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.runs.seeds import first_run
from vfl_flower.serving.options import ServiceOptions
from vfl_flower.serving.service import Service, Stamp, stamp_of
from vfl_flower.serving.term import Term
from vfl_flower.transport.local import LocalTransport
from vfl_flower.workflows.align import align_here
from vfl_flower.workflows.completed_run import check_models
from vfl_flower.workflows.local.new_tables import with_new_tables
from vfl_flower.workflows.local.predict import cfgs_of, going_on, parties_here, run_of_tables
from vfl_flower.workflows.trained_parties import predicting_parties

_Parties = tuple[ActiveParty, list[PassiveParty]]


class RunHere:
    """Source of terms: a run's folder, whose model may be replaced.

    Parameters
    ----------
    run : Path
        The folder of a complete run, or a link to it; of several seeds the first.
    tables : str
        New tables to score, as `predict_tables` takes them; empty: the run's own rows, all of them.
    trust_code : bool
        Whether the code of networks that the folder names may be imported.
    without : str
        Passive parties that have left, with commas.
    """

    def __init__(self, run: Path, tables: str, trust_code: bool, without: str = "") -> None:
        self._run, self._tables, self._trust, self._without = run, tables, trust_code, without

    def stamp(self) -> Stamp:
        """Fingerprint the model that the folder has now."""
        folder = first_run(self._run, self._trust).path
        return stamp_of(model_of(folder / party_name(0)) / NETWORK)

    def term(self) -> Term:
        """Load all parties, with their models and data.

        Raises
        ------
        VflError
            As `predict_rows` and `predict_tables` do, but for the file.
        """
        if self._tables:
            folder = run_of_tables(self._run, self._trust, self._without)
            active, passive = self._of_tables(folder)
        else:
            folder = going_on(first_run(self._run, self._trust), self._without)
            check_trusted(folder.cfg)
            check_models(folder)
            active, passive = predicting_parties(folder)
        for party in passive:
            party.drift.counts = True
        logs: Callable[[], object] = partial(party_logs, folder, folder.cfg.parties - 1)
        return Term(active, LocalTransport(passive), during=logs)  # type: ignore[arg-type]

    def _of_tables(self, folder: RunFolder) -> _Parties:
        """Align new tables, and build their parties."""
        with with_new_tables(folder.cfg, self._tables) as now, TemporaryDirectory() as temporary:
            cfgs = cfgs_of(now, folder.path, temporary, self._trust)
            # a budget need not last for all rows: each exchange is paid when it is asked for
            cfgs = {rank: replace(cfg, task="serve") for rank, cfg in cfgs.items()}
            _, alignments = align_here(cfgs[0], Path(temporary))
            return parties_here(cfgs, alignments)


def serve(
    run: Path, tables: str, options: ServiceOptions, trust_code: bool = False, without: str = ""
) -> None:
    """Serve a run's model until Ctrl-C or SIGTERM; see `RunHere` and `Service`.

    Raises
    ------
    Interrupted
        When it was stopped, after all requests in hand were answered.
    """
    source = RunHere(run, tables, trust_code, without)
    Service(source, options).run()
