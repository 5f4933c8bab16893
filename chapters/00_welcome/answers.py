# %% [markdown]
# Answers to the exercises of this chapter: wrong ones, which must lose points, and right ones in unusual forms.
# `course answers 00` grades them.


# %% answer="welcome_first_derivative" wrong="one round fewer"
answer = 4.0


# %% answer="welcome_first_derivative" wrong="the value"
answer = 16.0


# %% answer="welcome_squared_distance" right="a dot product"
def squared_distance(a, b):
    difference = (a - b).reshape(-1)
    return difference @ difference


# %% answer="welcome_squared_distance" wrong="the mean"
def squared_distance(a, b):
    return ((a - b) ** 2).mean()


# %% answer="welcome_squared_distance" wrong="a number, without gradients"
def squared_distance(a, b):
    return torch.tensor(((a - b) ** 2).sum().item(), requires_grad=True)


# %% answer="welcome_more_operations" right="as first written, from the task alone"
def divide(a, b):
    return noted(a.value / b.value, [(a, 1 / b.value), (b, -a.value / b.value**2)])


def power(a, n):
    return noted(a.value**n, [(a, n * a.value ** (n - 1))])


def exp(a):
    value = math.exp(a.value)
    return noted(value, [(a, value)])


# %% answer="welcome_more_operations" wrong="a quotient as a product with a power, which leaves two notes"
def divide(a, b):
    return a * power(b, -1)


def power(a, n):
    return noted(a.value**n, [(a, n * a.value ** (n - 1))])


def exp(a):
    value = math.exp(a.value)
    return noted(value, [(a, value)])


# %% answer="welcome_more_operations" wrong="derivatives from the result, which divide by zero"
def divide(a, b):
    value = a.value / b.value
    return noted(value, [(a, value / a.value), (b, -value / b.value)])


def power(a, n):
    value = a.value**n
    return noted(value, [(a, n * value / a.value)])


def exp(a):
    value = math.exp(a.value)
    return noted(value, [(a, value)])


# %% answer="welcome_newton" right="one list, a new number each time"
def newton(f, start, steps):
    places = [start]
    while len(places) <= steps:
        x = Number(places[-1])
        notes.clear()
        y = f(x)
        backward(y)
        places.append(x.value - y.value / x.grad)
    notes.clear()
    return places


# %% answer="welcome_newton" wrong="the start isn't in the list"
def newton(f, start, steps):
    x, found = start, []
    for _ in range(steps):
        notes.clear()
        number = Number(x)
        y = f(number)
        backward(y)
        x = x - y.value / number.grad
        found.append(x)
    notes.clear()
    return found


# %% answer="welcome_newton" wrong="one number, whose gradients add up"
def newton(f, start, steps):
    x, found = Number(start), [start]
    for _ in range(steps):
        notes.clear()
        y = f(x)
        backward(y)
        x.value -= y.value / x.grad
        found.append(x.value)
    notes.clear()
    return found


# %% answer="welcome_newton" wrong="the last notes stay"
def newton(f, start, steps):
    found = [start]
    for _ in range(steps):
        notes.clear()
        x = Number(found[-1])
        y = f(x)
        backward(y)
        found.append(x.value - y.value / x.grad)
    return found


# %% answer="welcome_read_the_record" right="a stack and a set"
def operations(result):
    counts, seen, waiting = {}, set(), [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen or node.name().endswith("AccumulateGrad"):
            continue
        seen.add(node)
        counts[node.name()] = counts.get(node.name(), 0) + 1
        waiting += [each for each, _ in node.next_functions]
    return counts


# %% answer="welcome_read_the_record" wrong="counts paths"
def operations(result):
    counts, waiting = {}, [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node.name().endswith("AccumulateGrad"):
            continue
        counts[node.name()] = counts.get(node.name(), 0) + 1
        waiting += [each for each, _ in node.next_functions]
    return counts


# %% answer="welcome_read_the_record" wrong="follows the first input alone"
def operations(result):
    counts, node = {}, result.grad_fn
    while node is not None and not node.name().endswith("AccumulateGrad"):
        counts[node.name()] = counts.get(node.name(), 0) + 1
        node = node.next_functions[0][0]
    return counts


# %% answer="welcome_repair_standardize" right="by the mean of squares"
def standardize(x):
    centred = x - x.mean()
    return centred / (centred * centred).mean().sqrt()


# %% answer="welcome_repair_standardize" wrong="divides by the count minus 1"
def standardize(x):
    return (x - x.mean()) / x.std()


# %% answer="welcome_repair_standardize" wrong="the spread stays a number"
def standardize(x):
    centred = x - x.mean()
    return centred / math.sqrt((centred * centred).mean().item())


# %% answer="welcome_measure_program" right="where the derivative becomes 1"
def measure(program):
    limit = next(start for start in range(1, 62) if derivative(program, start) == 1)
    offset = round(program(torch.tensor(1000.0)).item()) - 1000
    return limit, derivative(program, limit - 1), offset


# %% answer="welcome_measure_program" wrong="the factor read at the start 1"
def measure(program):
    limit = next(start for start in range(1, 62) if derivative(program, start) == 1)
    offset = round(program(torch.tensor(1000.0)).item()) - 1000
    return limit, derivative(program, 1), offset


# %% answer="welcome_measure_program" wrong="the last start below the limit"
def measure(program):
    limit = next(start for start in range(1, 62) if derivative(program, start) == 1)
    offset = round(program(torch.tensor(1000.0)).item()) - 1000
    return limit - 1, derivative(program, limit - 1), offset


# %% answer="welcome_newton" wrong="stops once the root is found, with fewer values"
def newton(f, start, steps):
    values = [float(start)]
    notes.clear()
    for _ in range(steps):
        x = Number(values[-1])
        y = f(x)
        if abs(y.value) < 1e-12:
            notes.clear()
            break
        backward(y)
        notes.clear()
        values.append(x.value - y.value / x.grad)
    return values


# %% answer="welcome_newton" wrong="clears after each step, so the notes of others are there at the first call"
def newton(f, start, steps):
    values = [float(start)]
    for _ in range(steps):
        x = Number(values[-1])
        y = f(x)
        backward(y)
        values.append(x.value - y.value / x.grad)
        notes.clear()
    return values
