"""Counter of requests, rows and predictions for a policy."""

from vfl_flower.config.policy.case import refusal
from vfl_flower.privacy.accounts.counters import Counters, counters_in
from vfl_flower.privacy.accounts.place import accounts_of, checked_folder, run_of
from vfl_flower.privacy.client_dp.holder import Holder
from vfl_flower.protocol.components import UPLOADS, Phase
from vfl_flower.protocol.uploads import Upload, UploadCounter


class Limits(UploadCounter):
    """Counts requests and uploaded rows, where the owner's policy limits them.

    Raises
    ------
    PrivacyError
        If the party has no folder, or the run's name is that of the folder of accounts.
    """

    name = "limits"
    party: Holder

    def __init__(self, party: Holder) -> None:
        super().__init__(party)
        self.predicts = party.cfg.predicts
        most_a_day = party.policy.most_predictions_a_day if self.predicts else None
        self.of_rows = {"most-rows": party.policy.most_rows, "most-predictions-a-day": most_a_day}
        self.of_requests = party.policy.most_requests
        self._counted = 0
        if self._limits_rows or self.of_requests is not None:
            self._folder = checked_folder(party)

    @property
    def _limits_rows(self) -> bool:
        return any(most is not None for most in self.of_rows.values())

    @property
    def _counters(self) -> Counters:
        return counters_in(accounts_of(self._folder))

    def check_in(self) -> None:
        """Refuse a prediction of more rows than are left for today.

        Raises
        ------
        PolicyError
            Says how many are left.
        """
        rule = "most-predictions-a-day"
        most, rows = self.of_rows[rule], len(self.party.data.rows["test"])
        if most is None or self.party.cfg.task == "serve":  # which counts row by row
            return
        with self._counters.opened():
            left = max(most - self._counters.predicted(), 0)
        if rows > left:
            why = f"it is {most}, {left} are left, and {rows} are to be predicted"
            raise refusal(self.party.policy, "run", rule, why)

    def admit(self, declared: Phase) -> None:
        """Count a request, however many phases it has.

        Raises
        ------
        PolicyError
            If there were as many as the policy allows.
        """
        exchange = self.party.received.exchange
        if self.of_requests is None or exchange == self._counted:
            return
        uploads = self._limits_rows and not set(UPLOADS).isdisjoint(declared.sends)
        run = run_of(self._folder)
        if not self._counters.request(run, self.of_requests, durable=not uploads):
            why = f"it is {self.of_requests} a run"
            raise refusal(self.party.policy, "request", "most-requests", why)
        self._counted = exchange

    def count(self, upload: Upload, declared: Phase) -> None:
        """Count the rows of an upload before it leaves.

        Raises
        ------
        PolicyError
            If there were as many as the policy allows.
        """
        if self._limits_rows:
            rows = len(upload.values) if upload.rows is None else upload.rows
            run = run_of(self._folder)
            rule = self._counters.upload(run, rows, self.of_rows, predicts=self.predicts)
            if rule:
                why = f"it is {self.of_rows[rule]}"
                raise refusal(self.party.policy, "upload", rule, why)
