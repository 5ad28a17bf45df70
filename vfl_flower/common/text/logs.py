"""Loggers whose records are safe to show."""

import logging

from vfl_flower.common.text.escapes import escaped, escaped_lines


class EscapingFilter(logging.Filter):
    """Escapes a record before any handler sees it, Flower's among them."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Escape message and traceback; keep the record."""
        record.msg, record.args = escaped(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = escaped_lines(logging.Formatter().formatException(record.exc_info))
        return True


_ESCAPING = EscapingFilter()


def safe_log(name: str) -> logging.Logger:
    """Return a logger whose records are safe to show, whatever they quote."""
    log = logging.getLogger(name)
    log.addFilter(_ESCAPING)  # once: a logger has a filter once
    return log
