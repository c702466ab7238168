"""``python -m swoop.cli``: the same as ``swoop``."""

from swoop.cli import main

if __name__ == "__main__":
    main()
