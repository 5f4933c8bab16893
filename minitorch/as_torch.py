"""Makes `import torch` mean minitorch in this process, from the moment when this module is imported.

    import minitorch.as_torch       # in a notebook or a program, before whatever imports torch
    pytest -p minitorch.as_torch    # for a package's own tests

Nothing is written to the disk; `python -m minitorch --install` does that (`minitorch.installing`).
"""

from minitorch.torch_finder import redirect_imports

redirect_imports()
