# %% [markdown]
# # Build PyTorch again
# You have used PyTorch. Here you take it apart and build it again: tensors, the graph, the optimizers, a small GPT. At
# the end you can answer what an interviewer asks about it, because you will have written the code that the question is
# about.
#
# Run the first cell with Shift+Enter, and the others after it.

# %% tags=["proof-same-numbers"]
import minitorch as torch

torch.manual_seed(0)
print(torch.rand(3))
print(torch.__name__)

# %% [markdown]
# You may know these three numbers: PyTorch prints them too, after `manual_seed(0)`. But the module's name is
# `minitorch`. It is a PyTorch in Python that you can read, with the same names, numbers, random stream, printing and
# errors, and NumPy below it. You import it as `torch`, and ordinary programs run on it.
#
# ## What is PyTorch?
# A library for computing with tensors. It stands on two pillars, and each of them can surprise you in one cell.
#
# ### Pillar one: the same code on every device
# A **tensor** is an array of numbers that knows its shape, its type and its *device*. An operation does not care where
# the numbers lie. Here is the code that computes every sigmoid in this course. Which library does it compute with?

# %%
import inspect

import numpy

from minitorch.ops.declaration import OPS

sigmoid = OPS["sigmoid"].kernel
print(inspect.getsource(sigmoid))

# %% [markdown]
# With none: `xp` is handed in. The tensor's device says which array library that is: NumPy for `cpu`, CuPy (a NumPy for
# NVIDIA cards) for `cuda`. So nothing hinders you from handing in one of your own, a NumPy that announces what is asked
# of it.


# %% tags=["proof-device"]
class Announcing:
    def __getattr__(self, name):
        print("asked for", name)
        return getattr(numpy, name)


print(sigmoid(Announcing(), numpy.array([0.0, 2.0])))
x = torch.tensor([0.0, 2.0])
print(torch.sigmoid(x), "on", x.device, "by", x.device.xp.__name__)

# %% [markdown]
# That is the first pillar. A GPU is fast because thousands of its cores do the same to different numbers. What PyTorch
# adds is that your program does not change: you say `device=` once, and the same operations run there.
#
# ### Pillar two: derivatives of programs
# Training needs derivatives. Nobody derives formulas, and here there is not even one: the loop runs as often as the
# value wants.


# %% tags=["proof-derivative-of-a-loop"]
def double_until_100(x):
    while x < 100:
        x = x * 2
    return x


for start in (3.0, 60.0):
    x = torch.tensor(start, requires_grad=True)
    y = double_until_100(x)
    y.backward()
    print(f"{start:4} -> {y.item()}, and the derivative is {x.grad.item()}")

# %% [markdown]
# 3 is doubled six times, so near 3 the function is $64x$ and its derivative 64. 60 is doubled once. Nobody analysed the
# loop. Each operation on `x` left a note while it ran: what it did, and with what. `backward` reads the notes in
# reverse and applies the chain rule. This is **autograd**, automatic differentiation. The notes form a **graph**, which
# you can look at:

# %% tags=["proof-dynamic-graph"]
from minitorch import viz

for start in (3.0, 60.0):
    node, count = double_until_100(torch.tensor(start, requires_grad=True)).grad_fn, 0
    while node is not None and node.name() == "MulBackward0":
        node, count = node.next_functions[0][0], count + 1
    print(f"from {start}: a graph of {count} multiplications")
x = torch.tensor(30.0, requires_grad=True)
viz.graph(double_until_100(x), names={"x": x})

# %% [markdown]
# Same function, two graphs: a new one is recorded in every run. That is what **eager** execution and a **dynamic
# graph** mean: an operation is computed when its line is reached, and the graph is a by-product. The `while` is not in
# it. Python decided, and the graph knows only what happened.
#
# **Interview · What is PyTorch, in a sentence or two?**
#
# - *Thirty seconds:* A library for tensors that live on CPUs or GPUs, with automatic differentiation of whatever you
#   compute with them. On these two stand the rest: modules, optimizers, data loading.
# - *Longer:* Operations are dispatched by the tensor's device and type. Autograd records them as they run and goes
#   through the record backwards. Python's control flow needs no special form, and a debugger sees real values.
# - *They ask next:* What does the eager style cost? Each operation is launched by itself and nothing sees the whole, so
#   nothing is fused or reordered. `torch.compile` traces the program to win that back.
# - *The trap:* "PyTorch is NumPy on a GPU." Without autograd it would be; and on a CPU a tensor is not faster than an
#   array by nature.
# - *Proof:* the sigmoid and the loop above.
#
# **Interview · What does "dynamic graph" mean?**
#
# - *Thirty seconds:* The graph is recorded anew in each forward pass, by running the operations. A static graph is
#   built once, before any number flows, and then executed.
# - *Longer:* So an `if` or a loop may depend on values, and each iteration may have another graph. A backward pass uses
#   the graph up; the next forward pass makes a new one.
# - *They ask next:* What is in the graph, and what isn't? Operations and the values their derivatives need. Not the
#   control flow, nor what ran under `no_grad`.
# - *The trap:* "The graph changes during training" as an extra feature. It is simply made again.
# - *Proof:* six multiplications from 3, one from 60.

# %% [markdown]
# ## How the course works
# In a terminal, two commands in the project's folder are enough: `make lab` opens JupyterLab on this page, `make test`
# runs everything that must pass.
#
# **A chapter** is a notebook in `notebooks/`, some forty minutes long. It starts with a surprise, builds the smallest
# model that explains it, breaks that on purpose, and then shows the real code, which holds no secret any more. Every
# claim is followed by the cell that shows it. Change the cells; nothing can break. Interview questions have five parts,
# as above: *thirty seconds* is the answer, *longer* what you say if they want more, *they ask next* the follow-ups,
# *the trap* the common mistake, *proof* the cell to point at.
#
# **Exercises** stand in the notebook of the same name in `exercises/`. Write where it says `# YOUR CODE HERE`, run the
# cell, run the check below it. It shows values for random inputs, and green or red. There are four kinds: *predict* a
# result, *build* a part, *repair* a famous bug, *measure* a number.
#
# **Your answers become the package.** Many exercises re-create a function or class of `minitorch`. A right answer is
# kept in the folder `my/`, and can take the original's place: in the end the training loop, the graph and the optimizer
# are yours.
#
# | command | what it does |
# |---|---|
# | `course next` | names the exercise to do now |
# | `course hint NAME` | gives one hint, a stronger one each time; in a notebook: `check.hint("NAME")` |
# | `course check exercises/00_welcome.ipynb` | runs all checks of a notebook in a fresh kernel |
# | `course progress` | your points, and which parts of `minitorch` are yours |
# | `course mine` | the package's own tests, run on your code; `course mine script.py` runs a script on it |
# | `course grade exercises/00_welcome.ipynb` | the real grade: inputs that nobody has seen before, judged outside the process that ran your code |
# | `course reset NAME` | an exercise as it was in the beginning; a copy of yours is kept |
#
# The command lives in `.venv`: activate it with `. .venv/bin/activate`, or write `.venv/bin/course`.

# %% [markdown]
# ## The map
# The interview questions of the course, by chapter. A chapter without a link is not written yet. In a hurry? Read the
# thirty-second answers first.

# %%
from pathlib import Path

import yaml
from IPython.display import Markdown

chapters, topics = (yaml.safe_load(Path(name).read_text(encoding="utf-8")) for name in ("chapters.yml", "topics.yml"))
places = [place for each in topics.values() for place in each]
lines = ["| | chapter | questions |", "|---|---|---|"]
for chapter, subject in chapters.items():
    questions = dict.fromkeys(q for place in places if place["chapter"] == chapter for q in place["questions"])
    title = f"[{subject}]({chapter}.ipynb)" if questions else subject
    lines.append(f"| {chapter[:2]} | {title} | {'<br>'.join(questions) or '*not written yet*'} |")
Markdown("\n".join(lines))

# %% [markdown]
# ## You try
# Open [`exercises/00_welcome.ipynb`](../exercises/00_welcome.ipynb). Its two exercises are small; they show you how the
# others work.
