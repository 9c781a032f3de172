"""`python -m <package>`: look into messages. Needs the extra `cli`."""

import sys

EXTRA = ("click", "rich")


def run() -> None:
    """Run the command line, or say what it takes to have one."""
    try:
        from .runtime.explain.cli import main

        main(prog_name=f"python -m {__package__}")
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        distribution = str(__package__).replace("_", "-")
        print(f"{error.name} is not installed; it comes with: pip install '{distribution}[cli]'", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    run()
