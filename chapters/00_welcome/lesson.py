# %% [markdown]
# # Build PyTorch again
# Welcome. In this course you write a small PyTorch of your own, chapter by chapter, and you answer interview questions about code
# that you have typed yourself. Today you see two programs that your library will run, and you build its central idea in seventeen
# lines. Run each cell with Shift+Enter.

# %% hidden=true
from pathlib import Path

from course import check, lesson, pictures, widget

mytorch = lesson.mytorch(16)  # as of chapter 16, using your code wherever you've solved the exercise

# %% [markdown]
# ## What you will have written
# ### It reads digits
# Your library is called `mytorch`, and the first program needs only what you will have written by the end of chapter 07:
# tensors, indexing and gradients, but neither layers nor an optimizer. It learns from 1,500 handwritten digits and then reads
# 297 new ones.

# %% tags=["proof-digits"]
from sklearn.datasets import load_digits

digits = load_digits()
mytorch.manual_seed(0)
order = mytorch.randperm(len(digits.target))
images, labels = (mytorch.tensor(array.tolist())[order] for array in (digits.data / 16, digits.target))


w1, b1 = mytorch.randn(64, 32) / 32**0.5, mytorch.zeros(32)
w2, b2 = mytorch.randn(32, 10) / 16**0.5, mytorch.zeros(10)
parameters = [parameter.requires_grad_() for parameter in (w1, b1, w2, b2)]


def logits(x):
    return (x @ w1 + b1).clamp(min=0) @ w2 + b2


for _ in range(12):
    for chosen in mytorch.randperm(1500).split(32):
        out, right = logits(images[chosen]), labels[chosen].unsqueeze(1)
        loss = (out.exp().sum(1).log() - out.gather(1, right).squeeze(1)).mean()
        loss.backward()
        with mytorch.no_grad():
            for parameter in parameters:
                parameter.sub_(0.3 * parameter.grad)
                parameter.grad = None

predicted = logits(images[1500:]).argmax(1)
errors = (predicted != labels[1500:]).sum().item()
print("wrong: about", round(errors, -1), "of 297; by guessing it would be about", round(297 * 0.9))

# %% [markdown]
# It gets about ten of the 297 wrong. The picture shows ten of the new digits, each with the network's answer above it; an
# incorrect answer would be framed.

# %% hidden=true
alt = "Ten handwritten digits and answers."
wrong = (predicted != labels[1500:])[:10].nonzero().flatten().tolist()
pictures.images(images[1500:1510].reshape(10, 8, 8), predicted[:10].tolist(), wrong=wrong, alt=alt)

# %% [markdown]
# ### It writes
# The second program is a GPT, which needs the layers, attention, loss and optimizer that you write in chapters 09 to 16. The
# model is a PyTorch program of 150 lines; a folded cell loads it, with the library's name changed and nothing else. It learns
# one text by heart, letter by letter, and then writes by choosing the most likely next letter again and again.

# %% hidden=true
from minitorch.models import gpt as model

program = {"__name__": "__main__"}
exec(Path(model.__file__).read_text().replace("minitorch", "mytorch"), program)  # the GPT, with another library's name

# %% tags=["proof-GPT"]
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
# From the first letter alone, the GPT writes both lines without an error. So that you can compare your library with PyTorch,
# the course comes with a second one, **minitorch**, which is PyTorch written again in Python. From here on `torch` means
# minitorch, in the exercises as well. Can you trust it to show what PyTorch does? Look at the numbers that it prints here,
# which you may recognize:

# %% tags=["proof-same-numbers"]
import minitorch as torch

torch.manual_seed(0)
print(torch.rand(3))

# %% [markdown] tags=["short"]
# PyTorch prints the same three numbers after `manual_seed(0)`, and that is no accident: minitorch's tests compare its names,
# values, random numbers, printed forms and errors with the real PyTorch. The tests of your library compare it with minitorch in
# turn.
#
# ## What is PyTorch?
# PyTorch is a library for computing with tensors, and it rests on two pillars.
#
# ### Pillar one: the same code on every device
# A **tensor** is an array of elements with a shape, a data type, and a **device**, which is where its memory is. Since you may
# not have a GPU, `mytorch` simulates two of them, which use ordinary memory but follow PyTorch's rules.


# %% tags=["proof-device"]
def normalize(x):
    return (x - x.mean()) / x.std()


mytorch.cuda.simulate(2)
for where in ("cpu", "cuda:0", "cuda:1"):
    y = normalize(mytorch.tensor([1.0, 2.0, 6.0], device=where))
    print(f"{y.device!s:7}", [round(value, 4) for value in y.tolist()])
print(check.error(y.add, mytorch.ones(3, device="cuda:0")))

# %% [markdown] tags=["short"]
# Although `normalize` doesn't mention devices, it works on all of them, because an operation runs where its inputs are and its
# result stays there. (The exceptions are operations that copy, such as `y.to("cpu")`.) The last line is the error you get when
# the inputs are on two devices: moving them to the same device is your job, except for a 0-d tensor on the CPU, which [chapter
# 05](05_devices.ipynb) explains.
#
# A GPU is fast on large arrays: thousands of cores work at the same time. For a small array on a CPU, PyTorch is slower than NumPy,
# since each call passes through several layers before it reaches the arithmetic ([chapter
# 02b](02b_dtypes_and_dispatch.ipynb) measures the difference).
#
# **Interview · What is PyTorch, in a sentence or two?**
#
# - *Thirty seconds:* PyTorch is a tensor library with GPU support and automatic differentiation (autograd). It is eager:
#   operations run immediately. Modules, optimizers and everything else are built on these two pillars.
# - *Longer:* You write ordinary Python, and operations run at once, on the device of their inputs, while autograd records those
#   that need a gradient.
# - *They ask next:* What if two tensors are on different devices? Adding them raises an error, so you move one of them with `to` first.
# - *The trap:* Many call it "NumPy on a GPU", which omits the second pillar.
# - *Proof:* devices: `proof-device`; derivatives: `proof-derivative-of-a-loop`.
#
# ### Pillar two: derivatives of programs
# Training needs derivatives, which say how the loss changes if a weight changes a little. At school you derived them from
# formulas. The function in the next cell, however, isn't written as a formula, and the value of `x` decides how often its loop
# runs. `requires_grad=True` says that you want the derivative with respect to `x`, `backward` computes it, and `x.grad` holds
# it. What is it at 3?


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
# From 3 the loop doubles six times, so near 3 the function is $64x$ and its derivative is 64. From 60 it doubles only once.
# Nobody analysed the loop, so how did `backward` find the derivative?
#
# ## The smallest model: finite differences
# The most direct way is to evaluate the function twice, at `x` and a small step further, and to divide the change of the output
# by the step. The quotient is called a **finite difference**.


# %% tags=["proof-finite-differences"]
def finite_difference(f, x, step):
    return (f(x + step) - f(x)) / step


for step in (1e-3, 1e-6, 1e-8, 1e-15):
    estimates = {x: finite_difference(double_until_100, x, step) for x in (3.0, 49.9999999)}
    print(f"step {step:.0e}:", {x: round(estimate, 3) for x, estimate in estimates.items()})
x = torch.tensor(49.9999999, dtype=torch.float64, requires_grad=True)
double_until_100(x).backward()
print("backward:  ", x.grad.item())

# %% [markdown]
# ### Where finite differences break
# At 3 every step works except the smallest one, whose result drowns in rounding errors. At 49.9999999 the derivative is 4, but
# the two large steps cross the edge at 50, beyond which the loop runs one time fewer. A step of 1e-8 gets both points right,
# but how would you know that without the answer, and even closer to the edge it fails as well. `backward` has no step to
# choose.
#
# Move the slider and watch the estimate at 48, which starts far from 4 because the step crosses the edge.


# %% hidden=true
def estimate_at_48(step):
    estimate = finite_difference(double_until_100, 48, step)
    lines = {"function": ([40, 50, 50, 50, 56], [160, 200, float("nan"), 100, 112])}
    lines[f"estimate {estimate:.1f}"] = [48, 48 + step], [192, 192 + estimate * step]
    return pictures.curves(lines, xlabel="start", ylabel="double_until_100(start)")


pictures.slider(estimate_at_48, start={"step": 8.0}, step=[0.5, 1.0, 1.5, 2.0, 4.0, 8.0])

# %% [markdown]
# Finite differences also need one more run of the function for each input, which the code counts for a function with many inputs:

# %% tags=["proof-one-run-per-input"]
runs, counts = [], {"differences": [], "backward": []}


def length(x):
    runs.append("one more")
    return (x * x).sum()


def by_differences(x):
    start = length(x)
    return [(length(x + 1e-3 * unit) - start).item() / 1e-3 for unit in torch.eye(len(x))]


def by_backward(x):
    length(x.requires_grad_()).backward()


sizes = [4, 16, 64, 256, 1024]
for size in sizes:
    for name, method in {"differences": by_differences, "backward": by_backward}.items():
        runs.clear()
        method(torch.ones(size))
        counts[name].append(len(runs))
print(counts)
pictures.curves(counts, sizes, xlabel="inputs", ylabel="runs of the function", log="xy")

# %% [markdown] tags=["short"]
# Finite differences took 1,025 runs for 1,024 inputs, while `backward` ran the function once for all of them. A large GPT has
# billions of weights, so one run for each is hopeless.
#
# ## Seventeen lines that differentiate
# For a single operation the derivatives are simple. A sum changes by as much as either summand does, so both of its derivatives
# are 1. The derivatives of a product $a \cdot b$ are $b$ with respect to $a$, and $a$ with respect to $b$. Let each operation
# therefore leave a note as it runs, which says what it produced, from which inputs, and with which derivatives. A list of such
# notes is called a **tape**.

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
    print(f"made {made.value:4} from", [f"{x.value} with derivative {derivative}" for x, derivative in inputs])

# %% [markdown]
# Each of the three operations left a note, and now you read them backwards. When you reach a note, the gradient of its result is
# complete, because the notes that used the result were written later and have already been read. For each input, multiply the
# derivative in the note by that gradient, and add the product to the input's gradient.


# %% tags=["proof-notes"]
def backward(result):
    result.grad = 1.0
    for made, inputs in reversed(notes):
        for number, derivative in inputs:
            number.grad += derivative * made.grad


backward(y)
print("by your notes:", x.grad, "  by the formula 2x + 2:", 2 * 3.0 + 2)

notes.clear()
x = y = Number(3.0)
while y.value < 100:
    y = y * two
backward(y)
print("the loop, from 3:", x.grad)

# %% [markdown]
# Both results are exact. To multiply along a path and to add where paths meet is the chain rule, and the loop needed no special
# treatment, because each multiplication left a note when it ran. The method is called **automatic differentiation**, and
# PyTorch's implementation of it is **autograd**.
#
# **Interview · A value is used in two places. What is its gradient?**
#
# - *Thirty seconds:* The sum of what comes back from both places. By the chain rule, derivatives are multiplied along a path,
#   and the products are added where paths meet.
# - *Longer:* That is why `backward` adds to a gradient instead of overwriting it. The same rule covers a weight that two layers
#   share, and a weight that a loop uses at each step.
# - *They ask next:* Why does `.grad` also accumulate from one training step to the next? `backward` can't tell where a step ends,
#   so you clear the gradients yourself, as the training loop below does.
# - *The trap:* A gradient that is passed on before it is complete is wrong. All notes that used a value have to be read before the note
#   that produced it; [chapter 06](06_computation_graph.ipynb) shows what goes wrong otherwise.
# - *Proof:* `proof-notes`, where `x` is used three times.
#
# ### Milestone: seventeen lines learn a line
# Four points lie on $y = 3x - 1$. Without knowing that, the program starts from $w = b = 0$ and follows the negative gradient
# of the squared error downhill.

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
# It found the line. The program that reads digits does the same with 2,410 parameters instead of two.
#
# **Interview · How does autograd differ from numerical and from symbolic differentiation?**
#
# - *Thirty seconds:* Numerical differentiation evaluates the function once more for each input, and its result is approximate.
#   Symbolic differentiation transforms a formula into another formula. Automatic differentiation runs the program, records the
#   derivatives of each operation, and combines them by the chain rule.
# - *Longer:* Its result is exact up to rounding, and one backward pass serves all inputs. Because it differentiates the
#   operations that ran, it doesn't need a formula for the whole program.
# - *They ask next:* What are finite differences still good for? They check a gradient, as `torch.autograd.gradcheck` does in
#   [chapter 07b](07b_vector_jacobian_products.ipynb).
# - *The trap:* Some say that autograd uses finite differences. Then its result would depend on a step, and autograd has none.
# - *Proof:* `proof-finite-differences`, and the [notes](proof-notes).
#
# **Interview · Why does autograd go backwards?**
#
# - *Thirty seconds:* It goes backwards because there is one loss and there are many weights: a single backward pass gives the
#   derivatives with respect to all of them. This is called **reverse mode**. **Forward mode** carries derivatives along with the
#   values, and one pass gives the derivative along a single direction.
# - *Longer:* The price of reverse mode is memory, because the graph and the values saved in it are kept until the backward pass.
#   For matrix multiplications, a backward pass takes about twice the arithmetic of the forward pass, however many weights there
#   are.
# - *They ask next:* When is forward mode better? With few inputs and many outputs, and in an exercise of chapter 06 you build it.
# - *The trap:* The name, backpropagation, isn't the reason. The reason is the number of passes.
# - *Proof:* `proof-one-run-per-input`.
#
# **Interview · How does autograd treat an `if` or a `while`?**
#
# - *Thirty seconds:* They are invisible to it. Python decides which operations run, and autograd differentiates exactly those,
#   as if the decision had been fixed.
# - *Longer:* So two inputs may get derivatives from different branches, and where a branch changes, the function may jump without
#   any trace in the gradient.
# - *They ask next:* Can you train the condition itself, such as a threshold? It gets no gradient from the decision, so you
#   replace the decision by a smooth function, or estimate the gradient.
# - *The trap:* It sounds as if a function with jumps couldn't be differentiated, but PyTorch returns the derivative of the piece that ran.
# - *Proof:* `proof-derivative-of-a-loop`, `proof-dynamic-graph`.
#
# ## Where the tape breaks
# All calculations share one list, and so far `notes.clear()` emptied it in time. Let's differentiate $y = x \cdot x$, and then,
# without clearing, $z = x + x$, whose derivative is 2. After that, omit `notes.clear()` from the training loop as well, and plot
# the length of the list.

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
# You got 8 instead of 2: the note of $y = x \cdot x$ is still on the list, so it was read again and added its derivative, $2x =
# 6$. The list also grows with each step.
#
# PyTorch has no such list. Instead, it ties each note to the tensor that the operation produced, as its `grad_fn`, and makes it
# point to the notes of its inputs. The backward pass of $z$ follows these pointers and never meets $y$, and a note is freed as
# soon as nothing points to it any more.
#
# | yours | PyTorch's |
# |---|---|
# | a note | a **node**, which you find at `result.grad_fn` |
# | its inputs | `grad_fn.next_functions` |
# | the derivatives | computed during the backward pass, from values that the node saved |
# | `number.grad += …` | the node `AccumulateGrad`, at the end of a path |
#
# Nodes and pointers form a **graph**. Let's count the multiplications in it for three starts, and draw the graph for 30.

# %% tags=["proof-dynamic-graph"]
for start in (3.0, 12.0, 60.0):
    node, count = double_until_100(torch.tensor(start, requires_grad=True)).grad_fn, 0
    while node.name() == "MulBackward0":
        node, count = node.next_functions[0][0], count + 1
    print(f"from {start:4}: multiplications {count}, then {node.name()}")
end = double_until_100(torch.tensor(30.0, requires_grad=True)).grad_fn
pictures.graph(end, children=lambda n: [e[0] for e in n.next_functions], label=lambda n: n.name())

# %% [markdown]
# Each run of the function records a new graph, as long as the loop ran, which is why it is called a **dynamic graph**. It is a
# by-product of **eager** execution, in which an operation runs as soon as Python reaches its line. The `while` isn't in the
# graph: Python decided how often to multiply, and the graph contains only the multiplications.
#
# Can you run `backward` twice on the same graph? Try it with a sum and with a sum of squares:

# %% tags=["proof-twice"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
total, squares = x.sum(), (x * x).sum()
total.backward()
total.backward()
print("a sum, twice:", x.grad.tolist())
squares.backward()
print("squares, twice:", str(check.error(squares.backward))[:74] + " …")

# %% [markdown]
# The graph still exists, but the values that the product saved for its derivatives are gone. `backward` frees them unless you pass
# `retain_graph=True` in the first call. A sum saves no values, so it can run again.
#
# **Interview · What does "dynamic graph" mean?**
#
# - *Thirty seconds:* Each forward pass records a new graph while it runs the operations. A static graph, in contrast, is built
#   once, before anything is computed, and is then executed many times.
# - *Longer:* An `if` or a loop may therefore depend on values, and a debugger shows real numbers. The price is that no compiler
#   has the whole program before it runs, so nothing can optimize across operations; `torch.compile` captures it to win that
#   back (chapter 08).
# - *They ask next:* What is in the graph? The operations and the values that their derivatives need, but not Python's control flow.
# - *The trap:* "Dynamic" doesn't mean that the graph changes while it runs, only that the next run builds a new one.
# - *Proof:* `proof-dynamic-graph`.
#
# **Interview · What does eager execution cost, and what does `torch.compile` change?**
#
# - *Thirty seconds:* In eager mode each operation is a call of its own, with overhead for Python and for the launch, and it
#   writes its result to memory before the next one reads it. `torch.compile` captures many operations and fuses them into few
#   kernels.
# - *They ask next:* When does it not help? When large matrix multiplications take nearly all of the time, or when shapes keep
#   changing, so that it compiles again and again ([chapter 08](08_static_and_dynamic_graphs.ipynb)).
# - *The trap:* If you time the first call, you time the compilation as well.
# - *Proof:* one node for each operation: `proof-dynamic-graph`.
#
# **Interview · PyTorch or JAX: what is the difference?**
#
# - *Thirty seconds:* In PyTorch you run operations on mutable tensors, autograd records them as they run, and compiling is
#   optional. In JAX you write pure functions on immutable arrays, and you transform them: `grad` returns the derivative as a
#   function, `jit` compiles, and `vmap` adds a batch dimension.
# - *They ask next:* Can PyTorch do this as well? `torch.func` offers `grad` and `vmap` ([chapter
#   07b](07b_vector_jacobian_products.ipynb)), and `torch.compile` corresponds to `jit`.
# - *The trap:* JAX does have an eager mode: it runs operations one at a time unless you use `jit`.
# - *Proof:* the record that PyTorch keeps: `proof-shared-notes`; tracing functions: [chapter
#   08](08_static_and_dynamic_graphs.ipynb).
#
# **Interview · Where does PyTorch keep the record, and when does it go away?**
#
# - *Thirty seconds:* PyTorch keeps it with the results: a tensor holds its node in `grad_fn`, and a node holds the nodes of its inputs.
#   A node is freed when nothing points to it any more.
# - *Longer:* Two losses that share no node therefore don't disturb each other, and a training loop that keeps no tensor keeps
#   no graph.
# - *They ask next:* How can a graph leak anyway? `total += loss` keeps the graph of each step, so add `loss.item()` instead.
# - *The trap:* Whoever imagines one global tape, like your list, expects 8.
# - *Proof:* `proof-shared-notes`; the leak: [chapter 06](06_computation_graph.ipynb).

# %% [markdown]
# ## How the course works
# **A lesson** is a notebook in `notebooks/`, whose cells you may change and run again as you like. It starts with a surprise,
# builds the smallest model that explains it, breaks that model, and then builds the real piece. Each interview question has a
# short answer, usually a longer one, a follow-up, a trap (the mistake that people make), and a link to the cell that proves it.
# Try to answer before you unfold it.
#
# **Exercises** are in the notebook of the same name in `exercises/`. Write your answer where it says `# YOUR CODE HERE`, run the
# cell, and then run the check below it.
#
# **Your library** is the folder `my/mytorch/`, which works from the start, because the course fills in the pieces that you haven't
# written yet. When a core exercise passes, your code replaces the course's, and a comment above it says so. The core exercises ask
# for about 35 % of the code, which is the part that carries the ideas. The rest is provided, and you may write it as well, with
# `course write`.
#
# | command | what it does |
# |---|---|
# | `course next` | names the exercise to do now |
# | `course hint` | gives a hint for the current exercise, a stronger one each time; in a notebook: `check.hint("NAME")` |
# | `course check` | checks your saved answer to the current exercise in a fresh kernel; `course check exercises/00_welcome.ipynb` checks a whole notebook |
# | `course progress` | shows your points |
# | `course mine` | tests your parts of `mytorch` and says how much of it is yours; `course mine script.py` runs a script on it |
# | `course grade exercises/00_welcome.ipynb` | gives the real grade, on new inputs |
# | `course reset NAME` | restores an exercise to its original state, and keeps a copy of your answer |
#
# Type the commands in a terminal, in the course's folder, after `. .venv/bin/activate`. This is where you are now:

# %% hidden=true
widget.progress()

# %% [markdown]
# ## The map
# These are the chapters with their interview questions; if you are in a hurry, read the thirty-second answers first.

# %% hidden=true
from course import topics

topics.chapter_map()

# %% [markdown] tags=["short"]
# ## Rapid fire
# - *What are the two pillars?* Tensors on any device, and autograd.
# - *What decides where an operation runs?* The device of its inputs.
# - *What does a node of the graph hold?* Its operation, its inputs' nodes, and the values that its derivatives need.
# - *Is the `while` in the graph?* No, only the operations that ran are recorded.
# - *What does `backward` free?* The saved values, unless you pass `retain_graph=True`.

# %% [markdown] tags=["short"]
# ## Ten lines to remember
# 1. PyTorch is tensors on devices plus automatic derivatives.
# 2. An operation runs where its inputs are, and its result stays there, apart from copies such as `to`.
# 3. Finite differences cost one run per input, and their result is approximate.
# 4. Each operation has simple derivatives, which the chain rule multiplies along a path and adds where paths meet.
# 5. One pass over the record, in reverse, gives the derivatives with respect to all inputs.
# 6. PyTorch ties the record to the results, in `grad_fn`, and has no global tape.
# 7. Eager means that an operation runs when Python reaches its line, and dynamic that each run records a new graph.
# 8. Control flow is not in the graph, which contains only what ran.
# 9. `backward` frees saved values, and adds to `.grad`.
# 10. In this course `torch` is minitorch, and `mytorch` is yours.

# %% [markdown]
# ## You try
# In [`exercises/00_welcome.ipynb`](../exercises/00_welcome.ipynb) you teach your numbers to divide, find a root, read PyTorch's
# graph, and repair a function whose values are correct and whose gradient isn't. Then [chapter 01](01_global_settings.ipynb)
# starts your library with its settings.

# %% [markdown]
# ## If you have time
# ### From the Chinese interview notes
# The course covers the topics of interview notes that circulate in Chinese. If you know those notes, you can look up a topic by
# its number and term.

# %% hidden=true
topics.notes_index()

# %% [markdown]
# ### Whiteboard problems
# These problems appear in public interview collections, the most frequent ones first, each with the exercise in which you write
# it.

# %% hidden=true
topics.whiteboard_index()
