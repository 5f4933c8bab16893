# %% [markdown]
# # Build PyTorch again
# Welcome. In this course you write a small PyTorch of your own, chapter by chapter, and answer interview questions
# about code that you have typed. Today you see two programs that your library will run, and you build its central idea
# in seventeen lines. Run each cell with Shift+Enter.

# %% hidden=true
from pathlib import Path

from course import check, lesson, pictures, widget

mytorch = lesson.mytorch(16)  # as of chapter 16, using your code wherever you've solved the exercise

# %% [markdown]
# ## What you will have written
# ### It reads digits
# Your library is called `mytorch`. This program needs what you'll have written by chapter 07: tensors, indexing and
# gradients. It has no layers and no optimizer. It learns from 1,500 handwritten digits and then reads 297 new ones.

# %% tags=["proof-digits"]
from sklearn.datasets import load_digits

digits = load_digits()
mytorch.manual_seed(0)
order = mytorch.randperm(len(digits.target))
images, labels = (mytorch.tensor(each.tolist())[order] for each in (digits.data / 16, digits.target))


w1, b1 = mytorch.randn(64, 32) / 32**0.5, mytorch.zeros(32)
w2, b2 = mytorch.randn(32, 10) / 16**0.5, mytorch.zeros(10)
parameters = [each.requires_grad_() for each in (w1, b1, w2, b2)]


def scores(x):
    return (x @ w1 + b1).clamp(min=0) @ w2 + b2


for _ in range(12):
    for chosen in mytorch.randperm(1500).split(32):
        s, right = scores(images[chosen]), labels[chosen].unsqueeze(1)
        loss = (s.exp().sum(1).log() - s.gather(1, right).squeeze(1)).mean()
        loss.backward()
        with mytorch.no_grad():
            for parameter in parameters:
                parameter.sub_(0.3 * parameter.grad)
                parameter.grad = None

predicted = scores(images[1500:]).argmax(1)
errors = (predicted != labels[1500:]).sum().item()
print("wrong: about", round(errors, -1), "of 297; by guessing it would be about", round(297 * 0.9))

# %% [markdown]
# Here are ten of the new digits, each with the network's answer above it. A wrong answer would have a frame.

# %% hidden=true
alt = "Ten handwritten digits and answers."
wrong = (predicted != labels[1500:])[:10].nonzero().flatten().tolist()
pictures.images(images[1500:1510].reshape(10, 8, 8), predicted[:10].tolist(), wrong=wrong, alt=alt)

# %% [markdown]
# ### It writes
# The second program is a GPT. It needs layers, attention, a loss and an optimizer, which you write in chapters 09 to 16.
# The model is a PyTorch program of 150 lines, in which only the name of the library is changed. It learns one text by
# heart, letter by letter. To write, it picks the likeliest next letter, again and again.

# %% tags=["proof-GPT"]
from minitorch.models import gpt as model

program = {"__name__": "__main__"}
exec(Path(model.__file__).read_text().replace("minitorch", "mytorch"), program)
TEXT = """Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:"""
letters = sorted(set(TEXT))
tokens = mytorch.tensor([[letters.index(letter) for letter in TEXT]])
mytorch.manual_seed(0)
gpt = program["GPT"](program["GPTConfig"](len(TEXT), len(letters), n_layer=2, n_head=4, n_embd=64))
optimizer = mytorch.optim.AdamW(gpt.parameters(), lr=0.01)
for _ in range(70):
    _, loss = gpt(tokens[:, :-1], tokens[:, 1:].contiguous())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
written = gpt.generate(tokens[:, :1], len(TEXT) - 1, top_k=1)
print("".join(letters[token] for token in written[0].tolist()))

# %% [markdown]
# The course comes with a second library, **minitorch**, which is PyTorch written again in Python. From here on `torch` means
# minitorch, in the exercises too. Can you trust it to show what PyTorch does? You may know these numbers:

# %% tags=["proof-same-numbers"]
import minitorch as torch

torch.manual_seed(0)
print(torch.rand(3))

# %% [markdown] tags=["short"]
# PyTorch prints the same three after `manual_seed(0)`. Minitorch's tests compare names, values, random numbers, printed forms and errors with the
# real PyTorch, and the tests of your library compare it with minitorch.
#
# ## What is PyTorch?
# PyTorch is a library for computing with tensors. It rests on two pillars.
#
# ### Pillar one: the same code on every device
# A **tensor** is an array of numbers that knows its shape, its type and its **device**, the place where the numbers are.
# You may not have a GPU, so `mytorch` pretends to have two. They use ordinary memory and follow PyTorch's rules.


# %% tags=["proof-device"]
def normalize(x):
    return (x - x.mean()) / x.std()


mytorch.cuda.simulate(2)
for where in ("cpu", "cuda:0", "cuda:1"):
    y = normalize(mytorch.tensor([1.0, 2.0, 6.0], device=where))
    print(f"{y.device!s:7}", [round(value, 4) for value in y.tolist()])
print(check.error(y.add, mytorch.ones(3, device="cuda:0")))

# %% [markdown] tags=["short"]
# `normalize` says nothing about devices. An operation runs where its inputs are, and its result stays there, unless the operation
# is a copy to another device, such as `y.to("cpu")`. Your job is to bring the inputs to one device. ([Chapter 05](05_devices.ipynb) has the exception: a single number on the CPU.)
#
# A GPU is fast on large arrays, because thousands of cores work at the same time. On a CPU, an operation on a small tensor takes
# longer than on a NumPy array. [Chapter 02b](02b_dtypes_and_dispatch.ipynb) measures it under *Myth 12*.
#
# **Interview · What is PyTorch, in a sentence or two?**
#
# - *Thirty seconds:* A library for tensors that live on CPUs or GPUs, with automatic derivatives of what you compute with
#   them. Modules and optimizers are built on these two.
# - *Longer:* You write ordinary Python. Operations run at once, on the device of their inputs, and autograd records those
#   that need a gradient.
# - *They ask next:* What if two tensors are on different devices? Adding them raises; you move one with `to`.
# - *The trap:* "NumPy on a GPU." That leaves out the second pillar.
# - *Proof:* devices: `proof-device`; derivatives: `proof-derivative-of-a-loop`.
#
# ### Pillar two: derivatives of programs
# Training needs derivatives: how does the loss move if this weight moves a little? At school you got them from formulas.
# This function isn't written as a formula, and the value of `x` decides how often its loop runs. What is its derivative at 3?


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

# %% [markdown] tags=["short"]
# 3 is doubled six times, so near 3 the function is $64x$ and its derivative is 64. 60 is doubled once. Nobody analysed
# the loop. So how did `backward` know?
#
# ## The smallest model: nudge it
# You can ask the function itself. Move the input a little, and see how far the output moves.


# %% tags=["proof-nudge"]
def nudge(f, x, step):
    return (f(x + step) - f(x)) / step


for step in (1e-3, 1e-6, 1e-8, 1e-15):
    slopes = {x: nudge(double_until_100, x, step) for x in (3.0, 49.9999999)}
    print(f"step {step:.0e}:", {x: round(slope, 3) for x, slope in slopes.items()})
x = torch.tensor(49.9999999, dtype=torch.float64, requires_grad=True)
double_until_100(x).backward()
print("backward:  ", x.grad.item())

# %% [markdown]
# ### Where it breaks
# At 3, all steps but the last are fine, and that one drowns in rounding errors. At 49.9999999 the derivative is 4, but the
# two large steps cross the edge at 50, beyond which the loop runs one time fewer. A step of 1e-8 gets both right. But how would
# you know that, without the answer? Closer to the edge, it fails too. `backward` has no step to choose. Move the slider, and
# watch the slope from 48.


# %% hidden=true
def nudged_from_48(step):
    slope = nudge(double_until_100, 48, step)
    lines = {"function": ([40, 50, 50, 50, 56], [160, 200, float("nan"), 100, 112])}
    lines[f"slope {slope:.1f}"] = [48, 48 + step], [192, 192 + slope * step]
    return pictures.curves(lines, xlabel="start", ylabel="double_until_100(start)")


pictures.slider(nudged_from_48, start={"step": 8.0}, step=[0.5, 1.0, 1.5, 2.0, 4.0, 8.0])

# %% [markdown]
# Nudging also needs a run for each input. Count the runs for a function with many inputs:

# %% tags=["proof-one-run-per-input"]
runs, counts = [], {"nudging": [], "backward": []}


def length(x):
    runs.append("one more")
    return (x * x).sum()


def by_nudging(x):
    start = length(x)
    return [(length(x + 1e-3 * unit) - start).item() / 1e-3 for unit in torch.eye(len(x))]


def by_backward(x):
    length(x.requires_grad_()).backward()


sizes = [4, 16, 64, 256, 1024]
for size in sizes:
    for name, method in {"nudging": by_nudging, "backward": by_backward}.items():
        runs.clear()
        method(torch.ones(size))
        counts[name].append(len(runs))
print(counts)
pictures.curves(counts, sizes, xlabel="inputs", ylabel="runs of the function", log="xy")

# %% [markdown] tags=["short"]
# A large GPT has billions of weights, so nudging them one by one is hopeless. `backward` ran the function once for all of them.
#
# ## Seventeen lines that differentiate
# A single operation is simple: you know its slopes. A sum moves by 1 when either part moves by 1. A product $a \cdot b$
# moves by $b$ when $a$ moves by 1, and by $a$ when $b$ does. So let each operation leave a note as it runs: what it made,
# from what, and with which slopes.

# %%
notes = []


class Number:
    def __init__(self, value):
        self.value, self.grad = value, 0.0

    def __add__(self, other):
        return noted(self.value + other.value, [(self, 1.0), (other, 1.0)])

    def __mul__(self, other):
        return noted(self.value * other.value, [(self, other.value), (other, self.value)])


def noted(value, inputs):
    result = Number(value)
    notes.append((result, inputs))
    return result


x, two = Number(3.0), Number(2.0)
y = x * x + two * x
print("y =", y.value)
for made, inputs in notes:
    print(f"made {made.value:4} from", [f"{x.value} with slope {slope}" for x, slope in inputs])

# %% [markdown]
# Now read the notes backwards. When you reach a note, the gradient of what it made is complete, because the notes that used
# it came later and have been read. Multiply by the slope, and add to each input.


# %% tags=["proof-notes"]
def backward(result):
    result.grad = 1.0
    for made, inputs in reversed(notes):
        for number, slope in inputs:
            number.grad += slope * made.grad


backward(y)
print("by your notes:", x.grad, "  by the formula 2x + 2:", 2 * 3.0 + 2)

notes.clear()
x = y = Number(3.0)
while y.value < 100:
    y = y * two
backward(y)
print("the loop, from 3:", x.grad)

# %% [markdown]
# Multiply along a path, and add where paths meet: that is the chain rule. The loop needed nothing special: it ran, and each
# multiplication left its note. This is **automatic differentiation**, exact up to rounding. PyTorch's is called **autograd**.
#
# **Interview · A value is used in two places. What is its gradient?**
#
# - *Thirty seconds:* The sum of what comes back from both. Along a path slopes are multiplied, and where paths meet,
#   the products are added: that is the chain rule.
# - *Longer:* So `backward` adds to a gradient and doesn't overwrite it. The same rule serves a weight that two layers share,
#   and one that a loop uses at each step.
# - *They ask next:* Why does `.grad` also add up from one training step to the next? `backward` can't know where a step ends, so
#   you clear it, as the training loop below does.
# - *The trap:* passing a gradient on before it is complete. All notes that used a value have to be read before its own
#   note; [chapter 06](06_computation_graph.ipynb) shows what goes wrong otherwise.
# - *Proof:* `proof-notes`: `x` is used three times there.
#
# ### Milestone: seventeen lines learn a line
# Four points lie on $y = 3x - 1$. Start from $w = b = 0$ and follow the gradient of the squared error downhill.

# %% tags=["proof-line"]
points = [(-1.0, -4.0), (0.0, -1.0), (1.0, 2.0), (2.0, 5.0)]


def squared_error(w, b):
    total = Number(0.0)
    for x, y in points:
        miss = w * Number(x) + b + Number(-y)
        total = total + miss * miss
    return total


w, b = Number(0.0), Number(0.0)
for _ in range(200):
    notes.clear()
    w.grad = b.grad = 0.0
    backward(squared_error(w, b))
    w.value -= 0.05 * w.grad
    b.value -= 0.05 * b.grad
print(f"w = {w.value:.4f}, b = {b.value:.4f}")

# %% [markdown]
# The program that reads digits does the same, with 2,410 numbers instead of two.
#
# **Interview · How does autograd differ from numerical and from symbolic differentiation?**
#
# - *Thirty seconds:* Numerical differentiation nudges each input: it costs one run per input, and the result is approximate. Symbolic
#   differentiation transforms a formula. Automatic differentiation runs the program, notes each operation's slopes, and combines
#   them by the chain rule.
# - *Longer:* It differentiates the operations that ran. A loop or an `if` needs no rule, since it isn't recorded.
# - *They ask next:* What is nudging still good for? Checking a gradient: `torch.autograd.gradcheck`, in
#   [chapter 07b](07b_vector_jacobian_products.ipynb).
# - *The trap:* "Autograd uses finite differences." Then the result would depend on a step, and autograd has none.
# - *Proof:* `proof-nudge`, and the [notes](proof-notes).
#
# **Interview · Why does autograd go backwards?**
#
# - *Thirty seconds:* There is one loss and there are many weights. One backward pass gives the derivatives for all of them;
#   this is called **reverse mode**. **Forward mode** carries derivatives along with the values, and one pass gives the
#   derivative along one direction, like a nudge.
# - *Longer:* The price is memory, because the notes and the values in them are kept until the backward pass.
# - *They ask next:* When is forward mode better? With few inputs and many outputs. You build it in an exercise of chapter 06.
# - *The trap:* "Because it's called backpropagation." The reason is the number of passes.
# - *Proof:* `proof-one-run-per-input`.
#
# ## Where the notes break
# All calculations share one list. Differentiate $y = x \cdot x$ and then $z = x + x$, whose derivative is 2. Next, leave
# `notes.clear()` out of the training loop, and watch the list.

# %% tags=["proof-shared-notes"]
notes.clear()
x = Number(3.0)
backward(x * x)
x.grad = 0.0
backward(x + x)
print("your notes say dz/dx =", x.grad)

x = torch.tensor(3.0, requires_grad=True)
(x * x).backward()
x.grad = None
(x + x).backward()
print("PyTorch says dz/dx =  ", x.grad.item())

kept = []
notes.clear()
for _ in range(20):
    backward(squared_error(w, b))
    kept.append(len(notes))
pictures.curves({"notes": kept}, xlabel="step without clear()", ylabel="notes on the list")

# %% [markdown]
# You got 8 instead of 2: the old note of $y$ was read again and added its slope, 6. The list also grows with each step. PyTorch has no such list. It
# ties a note to the tensor that the operation made, as its `grad_fn`, and a note points to the notes of its inputs.
# The backward pass of $z$ follows those pointers and never meets $y$. When nothing points to a note any more, it goes away.
#
# | yours | PyTorch's |
# |---|---|
# | a note | a **node**, found at `result.grad_fn` |
# | its inputs | `grad_fn.next_functions` |
# | the slopes | computed during the backward pass, from values that the node saved |
# | `number.grad += …` | the node `AccumulateGrad`, at the end of a path |
#
# Nodes and pointers form a **graph**. Count the multiplications in it for three starts, and look at the graph for 30.


# %% tags=["proof-dynamic-graph"]
for start in (3.0, 12.0, 60.0):
    node, count = double_until_100(torch.tensor(start, requires_grad=True)).grad_fn, 0
    while node.name() == "MulBackward0":
        node, count = node.next_functions[0][0], count + 1
    print(f"from {start:4}: multiplications {count}, then {node.name()}")
end = double_until_100(torch.tensor(30.0, requires_grad=True)).grad_fn
pictures.graph(end, children=lambda n: [e[0] for e in n.next_functions], label=lambda n: n.name())

# %% [markdown]
# Each run of the function records a new graph. That is a **dynamic graph**. It is a by-product of **eager** execution: an
# operation runs when Python reaches its line. The `while` isn't in the graph. Python decided how often to multiply, and the
# graph holds the multiplications.
#
# Can you run `backward` twice on one graph?

# %% tags=["proof-twice"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
total, squares = x.sum(), (x * x).sum()
total.backward()
total.backward()
print("a sum, twice:", x.grad.tolist())
squares.backward()
print("squares, twice:", str(check.error(squares.backward))[:74] + " …")

# %% [markdown]
# The graph is still there. The values that the product saved for its slopes are gone: `backward` frees them, unless you pass
# `retain_graph=True`. A sum saves none, so it can run again.
#
# **Interview · What does "dynamic graph" mean?**
#
# - *Thirty seconds:* Each forward pass records a new graph by running the operations. A static graph is built once, before
#   it computes, and then executed many times.
# - *Longer:* So an `if` or a loop may depend on values, and a debugger sees real numbers. The price is that nothing sees the whole
#   program before it runs and could make it faster. `torch.compile` traces it to win that back (chapter 08).
# - *They ask next:* What is in the graph? Operations, and the values that their derivatives need. Python's control flow
#   isn't.
# - *The trap:* "Dynamic means that the graph changes while it runs." It means that the next run makes a new one.
# - *Proof:* `proof-dynamic-graph`.
#
# **Interview · Can you call `backward` twice?**
#
# - *Thirty seconds:* Usually not: the first call frees the values that nodes saved, and the second raises. With
#   `retain_graph=True` in the first call you can. The gradients add up in `.grad`.
# - *Longer:* The nodes stay as long as the result does. If they saved nothing, a second call works.
# - *They ask next:* Why free the values? They can take more memory than the weights; chapter 06 counts them.
# - *The trap:* "`backward` deletes the graph." It frees the saved values. The sum above ran twice on one graph.
# - *Proof:* `proof-twice`.
#
# **Interview · Where does PyTorch keep the record, and when does it go away?**
#
# - *Thirty seconds:* With the results: a tensor holds its node in `grad_fn`, and a node holds the nodes of its inputs. A
#   node goes away when nothing points to it any more.
# - *Longer:* So two losses don't disturb each other, and a training loop that keeps no tensor keeps no graph.
# - *They ask next:* How can a graph leak anyway? `total += loss` keeps the graph of each step; add `loss.item()`.
# - *The trap:* Imagining one global tape. That was your list, and it gave 8.
# - *Proof:* `proof-shared-notes`; the leak: [chapter 06](06_computation_graph.ipynb).

# %% [markdown]
# ## How the course works
# **A lesson** is a notebook in `notebooks/`. It starts with a surprise, builds the smallest model that explains it, breaks
# that, and builds the real piece. Change its cells and run them again as you like. An interview question has a short answer,
# a longer one, a follow-up, a trap, and the name of the cell that proves it.
#
# **Exercises** are in the notebook of the same name in `exercises/`. Write where it says `# YOUR CODE HERE`, run the cell,
# then the check below it.
#
# **Your library** is the folder `my/mytorch/`. It works from the start, because the course fills in the pieces that you
# haven't written. When a core exercise passes, your code replaces the course's, and a comment above it says so. The core
# exercises ask for about 35 % of its code, the part that carries an idea; the rest is given, and you can write that, too.
#
# | command | what it does |
# |---|---|
# | `course next` | names the exercise to do now |
# | `course hint NAME` | gives a hint, a stronger one each time; in a notebook: `check.hint("NAME")` |
# | `course check exercises/00_welcome.ipynb` | runs all checks of a notebook in a fresh kernel |
# | `course progress` | shows your points |
# | `course mine` | tests your parts of `mytorch` and says how much of it is yours; `course mine script.py` runs a script on it |
# | `course grade exercises/00_welcome.ipynb` | gives the real grade, on new inputs |
# | `course reset NAME` | puts an exercise back as it was, and keeps a copy of yours |
#
# Type them in a terminal, in the course's folder, after `. .venv/bin/activate`. Here is where you are:

# %% hidden=true
widget.progress()

# %% [markdown]
# ## The map
# These are the chapters and their interview questions. In a hurry? Read the thirty-second answers first.

# %% hidden=true
from course import topics

topics.chapter_map()

# %% [markdown]
# ### From the Chinese interview notes
# The course covers the topics of interview notes that circulate in Chinese. If you know those notes, you can look a topic up here by
# its number and term.

# %% hidden=true
topics.notes_index()

# %% [markdown] tags=["short"]
# ## Rapid fire
# - *What are the two pillars?* Tensors on any device, and autograd.
# - *What decides where an operation runs?* The device of its inputs.
# - *What does a node know?* Its operation, the nodes of its inputs, and the values that its slopes need.
# - *Is the `while` in the graph?* No, only the operations that ran.
# - *What does `backward` free?* The saved values, unless you pass `retain_graph=True`.
#
# ## Ten lines to remember
# 1. PyTorch is tensors on devices plus automatic derivatives.
# 2. An operation runs where its inputs are, and its result stays there, copies such as `to` aside.
# 3. Nudging costs one run per input, and the result is approximate.
# 4. Each operation knows its own slopes. The chain rule multiplies them along a path and adds where paths meet.
# 5. Reading the notes backwards, once, gives the derivatives for all inputs.
# 6. PyTorch ties a note to the result: `grad_fn`. There is no global list.
# 7. Eager: an operation runs when Python reaches its line. Dynamic: each run records a new graph.
# 8. Control flow is not in the graph.
# 9. `backward` frees saved values, and adds to `.grad`.
# 10. `torch` is minitorch here, and `mytorch` is yours.
#
# ## You try
# Open [`exercises/00_welcome.ipynb`](../exercises/00_welcome.ipynb): teach your numbers to divide, find a root, read
# PyTorch's graph, and repair a function whose values are right and whose gradient isn't. Then
# [chapter 01](01_global_settings.ipynb) starts your library with its settings.
