"""The commands in this process: arguments in, exit code out."""

from collections.abc import Callable, Sequence

from vfl_flower.cli.main import run

Command = Callable[[Sequence[str]], int]


def command(name: str) -> Command:
    return lambda arguments: run([name, *arguments])


train, align, predict = map(command, ("train", "align", "predict"))
inspect, report, explain = map(command, ("inspect", "report", "explain"))
audit, data, identity, policy = map(command, ("audit", "data", "identity", "policy"))
account, sweep = map(command, ("account", "sweep"))
serve, export = map(command, ("serve", "export"))
