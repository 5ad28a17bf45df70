"""Rules of a policy on sizes: batches, widths, threads.

Each says why a run breaks it, or nothing.
"""

from vfl_flower.config.policy.case import Case


def least_batch(case: Case) -> str:
    """Refuse steps of fewer rows than a policy asks for."""
    least, size = case.policy.least_batch_size, case.cfg.batch_size
    small = case.cfg.task == "train" and size < least and not case.cfg.spec.full_batch
    return f"it is {least}, and batch-size is {size}" if small else ""


def most_batch(case: Case) -> str:
    """Refuse steps of more rows than a policy allows."""
    most, size = case.policy.most_batch_size, case.cfg.batch_size
    if case.cfg.task == "train" and most is not None and case.cfg.spec.full_batch:
        return f"it is {most}, and a step of {case.cfg.method} takes all training rows"
    large = case.cfg.task == "train" and most is not None and size > most
    return f"it is {most}, and batch-size is {size}" if large else ""


def embedding_dim(case: Case) -> str:
    """Refuse embeddings wider than a policy allows."""
    largest, width = case.policy.largest_embedding_dim, case.cfg.embedding_dim
    wide = case.cfg.task != "align" and width > largest
    return f"it is {largest}, and embedding-dim is {width}" if wide else ""


def threads(case: Case) -> str:
    """Refuse more threads than a policy allows."""
    most, cfg = case.policy.most_threads, case.cfg
    count, name = max((cfg.threads, "threads"), (cfg.eval_threads, "eval-threads"))
    return "" if count <= most else f"it is {most}, and {name} is {count}"
