"""What a process that a script spawns runs in place of the script: the script again, `import torch` meaning minitorch.

`multiprocessing` imports it in the new process, under the name `__mp_main__`, because `minitorch.__main__` says that
the script's module was made from it.
"""

import os

from minitorch.__main__ import PACKAGE, SCRIPT, run

globals().update(vars(run(os.environ[SCRIPT], __name__, os.environ.get(PACKAGE))))
