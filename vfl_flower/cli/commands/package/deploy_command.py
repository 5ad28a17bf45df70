"""``deploy``: a deployment here, certificates, and programs side by side."""

import click

from vfl_flower.common.sources import load_ours

_COMMANDS = ("local", "certificates", "together")


class Deploy(click.Group):
    """The programs of the folder ``deploy``, imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one, if there is one of that name."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = load_ours(f"deploy.{cmd_name}:{cmd_name}")
        return command


deploy = Deploy(
    "deploy",
    help="Make a deployment or its certificates, or run programs of one side by side.",
    no_args_is_help=False,
)
