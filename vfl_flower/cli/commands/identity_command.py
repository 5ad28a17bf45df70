"""``identity``: a party's key pair, by which other parties know it."""

from pathlib import Path

import click

from vfl_flower.cli.options import FILE


@click.group(no_args_is_help=False)
def identity() -> None:
    """Make or show a party's key pair."""


@identity.command()
@click.argument("file", type=FILE)
def make(file: Path) -> None:
    """Write a new key pair.

    The private key goes to FILE, the public one to FILE.pub.
    """
    # cryptography is slow to import
    from vfl_flower.crypto.identity import fingerprint, make_identity
    from vfl_flower.reporting.console.lines import say

    public = make_identity(file)
    say(f"made {file} (keep it) and {file}.pub (give it to the other parties)")
    say(fingerprint(public))


@identity.command()
@click.argument("file", type=FILE)
def show(file: Path) -> None:
    """Show a public key's fingerprint.

    FILE has the private key that it belongs to.
    """
    # cryptography is slow to import
    from vfl_flower.crypto.identity import fingerprint, read_private
    from vfl_flower.reporting.console.lines import say

    say(fingerprint(read_private(file).public_key().public_bytes_raw()))
