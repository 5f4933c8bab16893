"""Says its process id; then rank 1 does what argv says, and rank 0 waits."""

import os
import sys
import time

print(f"pid {os.getpid()}\n", end="", flush=True)
if os.environ["RANK"] == "1":
    exec(sys.argv[1])
time.sleep(100)
