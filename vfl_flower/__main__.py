"""``python -m vfl_flower COMMAND``; see `vfl_flower.cli`."""

from vfl_flower.cli import main

if __name__ == "__main__":
    main()
