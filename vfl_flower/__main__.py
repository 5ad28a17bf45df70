"""``python -m vfl_flower COMMAND``; see `vfl_flower.cli.main`."""

from vfl_flower.common.signals import exit_at_signals


def main(*command: str) -> None:
    """Run this process's command, and exit with its code.

    Parameters
    ----------
    *command : str
        What stands before the process's arguments.
    """
    exit_at_signals()
    # click is slow to import, and Ctrl-C would show where
    from vfl_flower.cli.main import main as run

    run(*command)


if __name__ == "__main__":
    main()
