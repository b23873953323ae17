"""Small Python functions with a docstring: a reduction of a mapped and filtered list, or a short classic.

Reductions, maps and filters combine freely; whole combinations are held out from training. Answers are
judged by running them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from .base import Family, Sample, vary_case
from .classics import CLASSICS
from .sandbox import FAILED, run_function
from .words import made_up

_REQUESTS = (
    "Write a Python function that {task}.",
    "Write a function that {task}.",
    "Write a Python function which {task}.",
    "Please write a Python function that {task}.",
    "Please implement a function that {task}.",
    "Create a Python function that {task}.",
    "Define a function that {task}.",
    "I need a Python function that {task}.",
    "Give me a function that {task}.",
    "Can you write a Python function that {task}?",
    "Implement a Python function that {task}.",
    "Python function that {task}.",
)
_TO_REQUESTS = (
    "Write a Python function to {task}.",
    "Write a function to {task}.",
    "Write Python code to {task}.",
    "Please write a function to {task}.",
    "Create a function to {task}.",
    "How do I {task} in Python?",
)


@dataclass(frozen=True)
class Part:
    """A building block: how it is asked for (the docstring uses the first way) and how it is written."""

    phrases: tuple[str, ...]
    code: str
    name: str = ""


# What happens to each x: "the squares of the numbers".
_NO_MAP = Part(("",), "x")
_NUMBER_MAPS = (
    Part(("squares",), "x * x", "squares"),
    Part(("cubes",), "x ** 3", "cubes"),
    Part(("doubles",), "2 * x", "doubles"),
    Part(("triples",), "3 * x", "triples"),
    Part(("halves",), "x / 2", "halves"),
    Part(("absolute values", "magnitudes"), "abs(x)", "absolute_values"),
    Part(("negatives", "opposites"), "-x", "negatives"),
    Part(("last digits",), "x % 10", "last_digits"),
)
_LENGTHS = Part(("lengths",), "len(x)", "lengths")
_WORD_MAPS = (
    Part(("first letters", "initials"), "x[0]", "first_letters"),
    Part(("last letters",), "x[-1]", "last_letters"),
    Part(("upper case forms", "uppercase versions"), "x.upper()", "upper_case"),
    Part(("lower case forms", "lowercase versions"), "x.lower()", "lower_case"),
    Part(("reversed forms", "reverses"), "x[::-1]", "reverses"),
)

# Which x are kept. Adjectives stand before the noun ("the even numbers"), clauses behind it.
_ADJECTIVES = (
    Part(("even",), "x % 2 == 0", "even"),
    Part(("odd",), "x % 2 == 1", "odd"),
    Part(("positive",), "x > 0", "positive"),
    Part(("negative",), "x < 0", "negative"),
    Part(("nonzero", "non-zero"), "x != 0", "nonzero"),
)
_NUMBER_CLAUSES = (
    Part(("greater than {n}", "above {n}", "larger than {n}"), "x > {n}", "large"),
    Part(("less than {n}", "below {n}", "smaller than {n}"), "x < {n}", "small"),
    Part(("divisible by {n}",), "x % {n} == 0", "divisible"),
)
_WORD_CLAUSES = (
    Part(("longer than {n} letters",), "len(x) > {n}", "long"),
    Part(("shorter than {n} letters",), "len(x) < {n}", "short"),
    Part(("starting with {c}", "that start with {c}"), 'x[0] == "{c}"', "starting"),
    Part(("ending with {c}", "that end with {c}"), 'x[-1] == "{c}"', "ending"),
    Part(("containing {c}", "that contain {c}"), '"{c}" in x', "containing"),
)

# What becomes of the kept and mapped x.
_PRODUCT = """result = 1
    for x in {items}:
        result *= {x}
    return result"""
_PRODUCT_WHERE = """result = 1
    for x in {items}:
        if {test}:
            result *= {x}
    return result"""
_AVERAGE = """values = [{x} for x in {items}{where}]
    return sum(values) / len(values)"""
_NUMBER_REDUCTIONS = (
    Part(("the sum of", "the total of"), "return sum({x} for x in {items}{where})", "sum_of"),
    Part(
        ("the largest of", "the maximum of"), "return max({x} for x in {items}{where})", "largest"
    ),
    Part(
        ("the smallest of", "the minimum of"), "return min({x} for x in {items}{where})", "smallest"
    ),
    Part(("the average of", "the mean of"), _AVERAGE, "average"),
    Part(("the product of",), _PRODUCT, "product_of"),
)
_SORTED = Part(("a sorted list of",), "return sorted({x} for x in {items}{where})", "sorted")
_LIST = Part(("a list of", "the list of"), "return [{x} for x in {items}{where}]", "list_of")
_COUNT = Part(("the number of", "the count of"), "return len([x for x in {items}{where}])", "count")
_LONGEST = Part(("the longest of",), "return max([x for x in {items}{where}], key=len)", "longest")
_SHORTEST = Part(
    ("the shortest of",), "return min([x for x in {items}{where}], key=len)", "shortest"
)
_ALL = Part(("whether all",), "return all({test} for x in {items})", "all")
_ANY = Part(("whether any",), "return any({test} for x in {items})", "any")


@dataclass(frozen=True)
class _Plan:
    """One function to write: reduction, map, filter and what the list holds."""

    noun: str
    reduction: Part
    mapping: Part = _NO_MAP
    adjective: Part | None = None
    clause: Part | None = None

    @property
    def test(self) -> str:
        kept = self.adjective or self.clause
        return kept.code if kept else ""


def _filled(rng: random.Random, part: Part) -> Part:
    """The part with its number or letter drawn."""
    n = rng.randint(2, 9) if "%" in part.code or "len" in part.code else rng.randint(1, 20)
    values = {"n": n, "c": rng.choice("abcdefgklmnoprst")}
    return Part(
        tuple(phrase.format(**values) for phrase in part.phrases),
        part.code.format(**values),
        part.name,
    )


def _draw_plan(rng: random.Random) -> _Plan:
    words = rng.random() < 0.3
    noun = "words" if words else "numbers"
    adjective = rng.choice(_ADJECTIVES) if not words and rng.random() < 0.4 else None
    clause = None
    if adjective is None and rng.random() < 0.45:
        clause = _filled(rng, rng.choice(_WORD_CLAUSES if words else _NUMBER_CLAUSES))
    filtered = adjective is not None or clause is not None
    parts = {"adjective": adjective, "clause": clause}
    if filtered and rng.random() < 0.2:
        return _Plan(noun, rng.choice((_COUNT, _ALL, _ANY)), **parts)
    if words and rng.random() < 0.25:
        return _Plan(noun, rng.choice((_LONGEST, _SHORTEST)), **parts)
    if words and rng.random() < 0.5:
        return _Plan(noun, rng.choice(_NUMBER_REDUCTIONS), _LENGTHS, **parts)
    maps = (*_WORD_MAPS, _LENGTHS) if words else _NUMBER_MAPS
    collections = (_LIST, _SORTED)
    mapping = _NO_MAP if rng.random() < 0.3 else rng.choice(maps)
    if mapping is _NO_MAP and not filtered:
        collections = (_SORTED,)
    choices = collections if words else (*_NUMBER_REDUCTIONS, *collections)
    return _Plan(noun, rng.choice(choices), mapping, **parts)


def _statement(plan: _Plan, pick, list_phrase: str) -> str:
    """The plan in words; ``pick`` chooses among phrases, ``list_phrase`` says where the x are."""
    adjective = f"{pick(plan.adjective.phrases)} " if plan.adjective else ""
    clause = f" {pick(plan.clause.phrases)}" if plan.clause else ""
    if plan.reduction in (_ALL, _ANY):
        verb = "are" if plan.reduction is _ALL else "is"
        noun = plan.noun if plan.reduction is _ALL else plan.noun[:-1]
        if clause.startswith(" that "):  # "whether all words that start with b": say it as a verb
            verb, clause = "", clause.removeprefix(" that")
            clause = clause if plan.reduction is _ALL else _third_person(clause)
        predicate = f"{verb} {adjective or clause}".split()
        return " ".join([pick(plan.reduction.phrases), noun + list_phrase, *predicate])
    kept = f"{adjective}{plan.noun}{clause}"
    mapped = pick(plan.mapping.phrases)
    of = f"the {mapped} of " if mapped else ""
    if plan.reduction is _COUNT or (plan.reduction in (_LIST, _SORTED) and not mapped):
        return f"{pick(plan.reduction.phrases)} {kept}{list_phrase}"
    if not adjective and not clause and list_phrase:
        whole = pick(
            (
                f"the {plan.noun}{list_phrase}",
                f"all {plan.noun}{list_phrase}",
                "a list",
                "a list",
                f"a list of {plan.noun}",
                "the given list",
            )
        )
        return f"{pick(plan.reduction.phrases)} {of}{whole}"
    every = pick(("the", "all")) if list_phrase else "the"
    return f"{pick(plan.reduction.phrases)} {of}{every} {kept}{list_phrase}"


def _third_person(clause: str) -> str:
    verb, _, rest = clause.strip().partition(" ")
    return f"{verb}s {rest}"


def _function(plan: _Plan, name: str) -> str:
    template = plan.reduction.code
    if template is _PRODUCT and plan.test:
        template = _PRODUCT_WHERE
    where = f" if {plan.test}" if plan.test else ""
    body = template.format(x=plan.mapping.code, items=plan.noun, where=where, test=plan.test)
    doc = _statement(plan, lambda phrases: phrases[0], "")
    return f'def {name}({plan.noun}):\n    """Return {doc}."""\n    {body}'


def _canonical_name(plan: _Plan) -> str:
    kept = plan.adjective or plan.clause
    parts = (plan.reduction.name, kept.name if kept else "", plan.mapping.name or plan.noun)
    return "_".join(part for part in parts if part)


def _request(rng: random.Random, forms: tuple[str, ...], task: str, name: str | None) -> str:
    prompt = vary_case(rng, rng.choice(forms)).format(task=task)
    if name is None:
        return prompt
    return f"{prompt.rstrip('.?')}. {rng.choice(('Name it', 'Call it'))} {name}."


def _draw_composed(rng: random.Random) -> Sample:
    plan = _draw_plan(rng)
    own_name = made_up(rng).lower() if rng.random() < 0.12 else None
    where = rng.choice((" in a list", " in a list", " of a list", " in the list"))
    task = _statement(plan, rng.choice, where)
    if rng.random() < 0.75:
        prompt = _request(
            rng, _REQUESTS, f"{rng.choice(('returns', 'computes', 'gives'))} {task}", own_name
        )
    else:
        verb = "check" if plan.reduction in (_ALL, _ANY) else rng.choice(("compute", "find", "get"))
        prompt = _request(rng, _TO_REQUESTS, f"{verb} {task}", own_name)
    combination = (plan.noun, plan.reduction.name, plan.mapping.name, plan.test)
    return Sample(
        family="code",
        key="/".join(combination),
        prompt=prompt,
        response=_function(plan, own_name or _canonical_name(plan)),
        facts={"kind": plan.noun},
    )


def _draw_classic(rng: random.Random) -> Sample:
    classic = rng.choice(CLASSICS)
    phrase = rng.choice(classic.phrases)
    form = rng.choice(_REQUESTS)
    return Sample(
        family="code",
        key=f"classic/{phrase}/{form}",
        prompt=vary_case(rng, form).format(task=phrase),
        response=classic.source,
        facts={"kind": classic.kind},
    )


def draw(rng: random.Random) -> Sample:
    return _draw_composed(rng) if rng.random() < 0.7 else _draw_classic(rng)


# Inputs on which an answer must agree with the expected function, by the kind of its arguments.
_CASES: dict[str, list[list]] = {
    "numbers": [
        [[3, -4, 12, 30, 7, -9, 0, 24, 15]],
        [[40, 18, 21, 5, -6, -35, 2, 1, 63, 8, 100]],
        [[2520, 2519, -2520, -2519]],
        [[25, 27]],
        [[-24, -120]],
    ],
    "words": [
        [["bread", "abc", "tin", "fragments", "KEG", "open", "moonlight", "psalms", "lark"]],
        [["total", "a", "Bookkeepers", "elf", "oars", "rapid", "glass", "tug", "nun", "kick"]],
        [["backgrounds", "complications"]],
    ],
    "text": [["level"], ["Hello World"], ["a quick brown fox 42"], ["eve sees"], ["Z"]],
    "text, text": [["banana", "a"], ["level", "l"], ["abc", "z"], ["abc", "abc"], ["cab", "abc"]],
    "text, number": [["hello", 2], ["a", 3], ["world wide", 4]],
    "integer": [[1], [2], [3], [4], [7], [9], [10], [12], [100], [2000]],
    "real": [[0], [1], [2.5], [-3], [100], [12]],
    "two": [[3, 4], [10, 5], [7, 7], [2, 9], [12, 8], [1, 6]],
    "three": [[1, 2, 3], [9, 4, 6], [5, 5, 5], [7, 10, 2], [-1, 0, 8]],
    "list": [[[3, 1, 2]], [[5]], [[4, 4, 1, 9]], [[0, -2, 7, 7]]],
    "list, value": [[[3, 1, 2], 1], [[5], 4], [[4, 4, 1, 9], 4]],
}


def check(sample: Sample, text: str) -> bool:
    """Whether the function in the text gives what the expected one gives, on every case both can take."""
    cases = _CASES[sample.facts["kind"]]
    expected, found = run_function(sample.response, cases), run_function(text, cases)
    if expected is None or found is None:
        return False
    # Where the expected function fails (the largest of nothing, say), any answer will do.
    judged = [pair for pair in zip(expected, found, strict=True) if pair[0] != FAILED]
    return bool(judged) and all(wanted == given for wanted, given in judged)


FAMILY = Family(name="code", draw=draw, check=check)
