"""The kernel that notebooks run in: this interpreter, whatever kernels are installed for the user."""

import os
from pathlib import Path
from typing import Any

from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

from course import variables
from course.files import CODE
from course.sandbox.environment import MATPLOTLIB, plain_environment


class KernelSpecs(KernelSpecManager):
    """Gives this interpreter's kernel, whatever name a notebook asks for and whatever is installed for the user."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return KernelSpec(**{**get_kernel_dict(), "metadata": {}})


def manager_options(folder: Path) -> dict[str, Any]:
    """Arguments of a `KernelManager` whose files and sockets lie in `folder`."""
    options: dict[str, Any] = {
        "kernel_spec_manager": KernelSpecs(),
        "connection_file": str(folder / "kernel.json"),
    }
    if os.name != "nt":  # sockets in a folder of our own: no two kernels ever race for a port
        options |= {"transport": "ipc", "ip": str(folder / "socket")}
    return options


def environment(folder: Path, seed: int, path: Path, package: Path) -> dict[str, str]:
    """The environment of a kernel.

    Args:
        folder: where its temporary files go.
        seed: of its checks.
        path: a folder on the import path.
        package: the folder of the package mytorch, which is on the import path too.
    """
    return plain_environment(str(folder)) | {
        "MPLCONFIGDIR": str(MATPLOTLIB),  # not the user's settings, but kept: its list of fonts takes seconds to make
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(map(str, (CODE, path, package.parent)))),
        variables.SEED: str(seed),
        variables.MYTORCH: str(package),
    }
