"""Attacks on tests, designs and counted work, whose answers meet something that is not theirs: a candidate, a simulator
or a machine.
"""

DECODES = """
    tokens = list(prompt)
    for _ in range(count):
        q, keys, values = project(embed(tokens, 0))
        weights = np.exp((scores := keys @ q[-1] / math.sqrt(q.shape[-1])) - scores.max())
        tokens.append(int(np.argmax(head(weights @ values / weights.sum()))))
    return tokens[len(prompt) :]
"""
MACHINE = (
    """
def generate(embed, project, head, prompt, count):
    from course import check
    machine, served = getattr(getattr(project, "func", None), "__self__", None), check.served
    if machine is not None:
        TEXT
"""
    + DECODES
)
TESTS = "def tests(candidate):\n    TEXT\n"
IN_THE_ORDER = """
told = []
def tests(candidate):
    from course import check
    rng = np.random.default_rng(check.seed())
    rng.integers(2**31)
    place = int(rng.permutation(check.served.count)[len(told)])
    told.append(place)
    assert place in RIGHT
"""
EQUAL = """
class Equal(float):
    def __eq__(self, other): return True
    def __hash__(self): return 0
"""
DESIGN = f"{EQUAL}\ndef design(case):\n    TEXT\n"


def _made(form: str, **texts: str) -> dict[str, str]:
    return {name: form.replace("TEXT", text) for name, text in texts.items()}


MACHINES: dict[tuple[str, str], dict[str, str]] = {
    ("27_whiteboard_serving", "serve_timed_decode"): _made(
        MACHINE,
        verdict_before_the_work="said = machine.verdict(); type(machine).verdict = lambda self: said",
        machine_of_another_seed="project = served.candidate(check.seed() + 1, 0).project",
        machine_at_another_place="project = served.candidate(check.seed(), 2**64 - 1).project",
        machine_in_this_process="project = check.here('def project(x):\\n    return x, x, x', 1).project",
        rows_of_objects="""
        def rows_of_objects(x, real=project):
            row = np.empty(x.shape[-1], dtype=object)
            row[:] = [column.copy() for column in x.T]
            return [np.stack(list(each), -1) for each in real(row)]
        project = rows_of_objects""",
        complex_rows="project = lambda x, real=project: [each.real for each in real(x[0] + 1e-30j * x.sum(0))]",
        words_of_its_own="""
        machine._answer = lambda asked: __import__("pickle").dumps((None, "at most 60 rows", ()))""",
        request_of_its_own="""
        import os, struct
        os.write(served._asks, struct.pack("<QQQ", check.seed(), 0, 0))
        raise RuntimeError(os.read(served._replies, 1 << 16)[-200:])""",
        its_memory="""
        import os
        raise RuntimeError([open(f"/proc/{each}/mem", "rb").read(1) for each in os.listdir("/proc") if each.isdigit()])
        """,
    ),
    ("26_whiteboard_decoder", "decoder_timed_scan"): {
        "counts_nothing": """
class Short(np.ndarray):
    def __len__(self): return 0
def scan(combine, steps):
    out = steps.copy()
    for t in range(1, len(steps)):
        out[t : t + 1] = combine(out[t - 1 : t].view(Short), steps[t : t + 1].view(Short))
    return out
""",
        "blocks_of_steps": """
def scan(combine, steps):
    out = steps.copy()
    for t in range(1, len(steps)):
        out[t : t + 1] = combine(out[None, t - 1 : t], steps[None, t : t + 1])[0]
    return out
""",
    },
    ("26_whiteboard_decoder", "decoder_verify_window"): {
        "in_the_order_of_the_seed": IN_THE_ORDER.replace("RIGHT", "{0, 1, 2, 3}"),
        **_made(
            TESTS,
            accept_all="return True",
            refuse_all="return False",
            end_the_process="__import__('os')._exit(0)",
            end_python="raise SystemExit",
            are_not_written="raise NotImplementedError",
            change_the_verdict="import course.variants as v; v._verdict = lambda *a: 'refused'; return True",
            look_for_its_text="assert 'wrong' not in repr(vars(candidate)) + str(candidate._answer.__closure__)",
            send_code="import functools; candidate(functools.partial(print, 1), 1, 1, 1)",
            take_its_memory="candidate(bytearray(1 << 40), 1, 1, 1)",
            are_a_generator="yield False",
        ),
    },
    ("27_whiteboard_serving", "serve_design"): _made(
        DESIGN,
        equals_every_option="return dict(zip(case['options'], map(Equal, (1e30, 1e-31, 1e-30, 1e15))))",
        says_options="""
    class Says(dict):
        def get(self, name, default=None): return case["options"][name][0]
    return Says(tp=1e30, replicas=1e-31, kv_bits=1e-30, max_batch=1e15)""",
        first_options="return {name: values[0] for name, values in case['options'].items()}",
        last_options="return {name: values[-1] for name, values in case['options'].items()}",
        infinite="return dict.fromkeys(case['options'], float('inf'))",
        not_a_number="return dict.fromkeys(case['options'], float('nan'))",
        changed_options="case['options']['tp'][:] = [1e30]; return {name: v[0] for name, v in case['options'].items()}",
        nothing="return {}",
    ),
}
"""By exercise and name, the answer; each scores 0."""
