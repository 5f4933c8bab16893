"""Weights from a URL, kept in a folder. Source: https://pytorch.org/docs/stable/hub.html"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from minitorch.serialization import load as load_file

__all__ = ["download_url_to_file", "get_dir", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_folder: str | None = None


def get_dir() -> str:
    """The folder for what is downloaded: set by `set_dir`, else $TORCH_HOME/hub, else ~/.cache/torch/hub."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return _folder or os.path.join(
        os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))), "hub"
    )


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the folder for what is downloaded."""
    global _folder
    _folder = os.path.expanduser(d)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Writes what is at `url` into the file `dst`, once all of it is there.

    Raises RuntimeError if its SHA-256 doesn't begin with `hash_prefix`.
    https://pytorch.org/docs/stable/hub.html#torch.hub.download_url_to_file
    """
    target = Path(os.path.expanduser(dst))
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=target.parent, suffix=".partial", delete=False) as file:
        try:
            with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source:
                while chunk := source.read(1 << 20):
                    file.write(chunk)
                    digest.update(chunk)
            if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
            os.replace(file.name, target)
        finally:
            Path(file.name).unlink(missing_ok=True)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """What `torch.load` makes of the file at `url`, downloaded once, to `model_dir` or `get_dir()`/checkpoints.

    With `check_hash` the file's name says how its SHA-256 begins: name-<hash>.ext.
    https://pytorch.org/docs/stable/hub.html#torch.hub.load_state_dict_from_url
    """
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    cached = os.path.join(folder, name)
    if not os.path.exists(cached):
        sys.stderr.write(f'Downloading: "{url}" to {cached}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, cached, found[1] if found else None, progress)
    return load_file(cached, map_location=map_location, weights_only=weights_only)


def load(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises NotImplementedError: code of other repositories isn't fetched."""
    raise NotImplementedError("torch.hub.load: minitorch fetches no code; use load_state_dict_from_url")
