"""The commands of ``python -m vfl_flower``, one module each; `vfl_flower.cli.main` names them."""
