"""`python -m <package>`: look into messages. Needs the extra `cli`."""

import sys

try:
    from .runtime.explain.cli import main
except ModuleNotFoundError as error:
    if error.name not in ("click", "rich"):
        raise
    sys.exit(
        f"{error.name} is not installed; it comes with the extra: pip install '{__package__.replace('_', '-')}[cli]'"
    )

if __name__ == "__main__":
    main(prog_name=f"python -m {__package__}")
