"""Rules of a policy on labels and gradients."""

from collections.abc import Callable

from vfl_flower.config.options.privacy import TRUE_SENSITIVITY
from vfl_flower.config.policy.case import Case


def _accept_labels(case: Case) -> str:
    given = case.teaches and case.cfg.labels_given
    if case.policy.accept_labels or not given:
        return ""
    return f"{case.cfg.method} gives passive parties the training labels"


def _label_privacy(case: Case) -> str:
    accepted, used = case.policy.label_privacy, case.cfg.label_noise or "none"
    if not case.teaches or not accepted or used in accepted:
        return ""
    return f"it lists {', '.join(accepted)}, and the mechanism on labels is {used}"


def _label_epsilon(case: Case) -> str:
    cfg, largest = case.cfg, case.policy.largest_label_epsilon
    if not case.teaches or largest is None:
        return ""
    if not cfg.label_noise:
        return f"it is {largest:g}, and labels are not noised"
    epsilon = cfg.label_epsilon * max(1.0, TRUE_SENSITIVITY / cfg.label_sensitivity)
    return f"it is {largest:g}, and epsilon is {epsilon:g}" if epsilon > largest else ""


def _gradient_defence(case: Case) -> str:
    cfg = case.cfg
    if case.policy.allow_gradient_defence or not case.teaches:
        return ""
    for name, value in (
        ("gradient-defence", cfg.gradient_defence if cfg.defended else ""),
        ("label-encoding", cfg.label_encoding if cfg.encoded else ""),
    ):
        if value:
            return f"{name} is {value}: residuals could not be checked for labels"
    return ""


LABEL_RULES: dict[str, Callable[[Case], str]] = {
    "allow-gradient-defence": _gradient_defence,
    "accept-labels": _accept_labels,
    "label-privacy": _label_privacy,
    "largest-label-epsilon": _label_epsilon,
}
"""Each says why a run breaks it, or nothing."""
