"""Boosted trees by NVFlare's vertical XGBoost, in the clear.

After ``examples/advanced/vertical_xgboost`` of NVFlare's repository: XGBoost's own federated
histograms, split by columns, whose messages NVFlare carries between the sites by way of its server.
The first site has the labels. After each round XGBoost judges training and test rows.
"""

import json
from pathlib import Path
from typing import Any

import xgboost
from nvflare.apis.analytix import LogWriterName
from nvflare.app_common.tracking.log_writer import LogWriter
from nvflare.app_opt.xgboost.data_loader import XGBDataLoader
from nvflare.app_opt.xgboost.histogram_based_v2.adaptors.xgb_adaptor import XGBClientAdaptor
from nvflare.app_opt.xgboost.histogram_based_v2.defs import Constant
from nvflare.app_opt.xgboost.recipes import vertical
from nvflare.recipe import set_per_site_config

from benchmarks.peers.inside.nvflare_sites import environment
from benchmarks.peers.inside.table import Meter, TableWork

LABELS = "site-1"
METER = Meter()
SEND = XGBClientAdaptor._send_request  # noqa: SLF001


def send(adaptor: Any, op: str, request: Any) -> tuple[bytes, Any]:  # noqa: ANN401
    """Pass a message on, and count its bytes and its reply's."""
    received, reply = SEND(adaptor, op, request)
    METER.bytes += len(request[Constant.PARAM_KEY_SEND_BUF]) + len(received or b"")
    return received, reply


class Columns(XGBDataLoader):  # type: ignore[misc, unused-ignore]
    """Columns of a site, and labels of the first one."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def load_data(self) -> tuple[xgboost.DMatrix, xgboost.DMatrix]:
        """Return training and test rows."""
        XGBClientAdaptor._send_request = send  # noqa: SLF001
        work = TableWork(Path(self.folder))
        mode = xgboost.core.DataSplitMode.COL
        train, test = (
            xgboost.DMatrix(
                work.columns(self.rank, part),
                label=None if self.rank else work.labels(part),
                data_split_mode=mode,
                nthread=1,
            )
            for part in ("train", "test")
        )
        return train, test


class Ticks(LogWriter):  # type: ignore[misc, unused-ignore]
    """Notes rounds, bytes and the AUC of a site in a file."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def get_writer_name(self) -> LogWriterName:
        """Return a name that NVFlare knows."""
        return LogWriterName.TORCH_TB

    def write(self, tag: str, value: dict[str, float], *arguments: object, **more: object) -> None:
        """Note a round at its measure of test rows, which comes first."""
        if tag == "eval_metrics":
            METER.round()
            told = {"rounds": METER.rounds, "auc": value["auc"]}
            Path(self.path).write_text(json.dumps(told))


class Recipe(vertical.XGBVerticalRecipe):  # type: ignore[misc, unused-ignore]
    """NVFlare's recipe, with measurements in the place of TensorBoard."""

    folder: Path

    def _add_client_components(self, job: Any, site: str, config: dict[str, Any]) -> None:  # noqa: ANN401
        executor = vertical.FedXGBHistogramExecutor(
            data_loader_id=self.data_loader_id,
            metrics_writer_id=self.metrics_writer_id,
            in_process=self.in_process,
            model_file_name=self.model_file_name,
        )
        job.to(executor, site, id="xgb_hist_executor", tasks=["config", "start"])
        job.to(Ticks(str(self.folder / f"{site}.json")), site, id=self.metrics_writer_id)
        job.to(config["data_loader"], site, id=self.data_loader_id)


def parameters(work: TableWork) -> dict[str, Any]:
    """Return XGBoost's parameters."""
    rules = work.rules
    return {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "eval_metric": "auc",
        "max_depth": rules["depth"],
        "eta": rules["rate"],
        "max_bin": rules["bins"],
        "lambda": rules["l2"],
        "min_child_weight": rules["least_child"],
        "base_score": rules["base"],
        "nthread": 1,
    }


def main(folder: Path, way: str) -> None:
    """Run the job in the simulator, or between processes; write the outcome."""
    work = TableWork(folder)
    sites = [f"site-{rank + 1}" for rank in range(work.parties)]
    recipe = Recipe(
        name="boosted-trees",
        min_clients=len(sites),
        num_rounds=work.rules["rounds"],
        label_owner=LABELS,
        early_stopping_rounds=0,
        xgb_params=parameters(work),
    )
    recipe.folder = folder
    set_per_site_config(recipe, {site: {"data_loader": Columns(str(folder))} for site in sites})
    with environment(folder, way, sites) as env:
        recipe.execute(env).get_result()
    told = [json.loads((folder / f"{site}.json").read_text()) for site in sites]
    first = Meter(told[0]["rounds"]).outcome()
    sent = sum(Meter(each["rounds"]).outcome()["bytes"] for each in told)
    work.write(first | {"bytes": sent, "score": told[0]["auc"]})
