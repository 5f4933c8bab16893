"""Install PyTorch, which the tests compare with, where it is missing: `python tests/install_torch.py VERSION [INDEX]`.

It is in no lock file: everybody picks the build that fits the machine, by the address of an index of packages.
"""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version


def installed() -> str:
    """The version of PyTorch that is here, without the build's name; empty if there is none."""
    try:
        return version("torch").partition("+")[0]
    except PackageNotFoundError:
        return ""


def main(wanted: str, index: str = "") -> None:
    """Install the version that is wanted, unless it is there."""
    if installed() != wanted:
        print(f"Installing PyTorch {wanted}, which the tests compare with. (TORCH=no leaves it out.)", flush=True)
        options = ["--index-url", index] if index else []
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *options, f"torch=={wanted}"], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
