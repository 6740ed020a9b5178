"""`python -m keyhole` is `keyhole`."""

from keyhole.cli import main

if __name__ == "__main__":
    main()
