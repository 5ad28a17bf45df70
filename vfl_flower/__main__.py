"""``python -m vfl_flower COMMAND``; see `vfl_flower.cli.main`."""

from vfl_flower.cli.main import main

if __name__ == "__main__":
    main()
