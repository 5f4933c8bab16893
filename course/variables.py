"""The environment variables by which a build, a test run or a grade tells a kernel what it runs on."""

SEED = "MINITORCH_COURSE_SEED"
"""The seed of its checks; a learner's kernel has none."""
REVEAL = "MINITORCH_COURSE_REVEAL"
"""Set where checks show secret values beside their digest."""
MYTORCH = "MINITORCH_COURSE_MYTORCH"
"""The folder of the package mytorch, in the place of the reference's and the learner's own."""
