"""Runs the program in the place of this process."""

import os
import sys

from . import program


def main() -> None:
    os.execv(program(), ["mobile-token-emulator", *sys.argv[1:]])


if __name__ == "__main__":
    main()
