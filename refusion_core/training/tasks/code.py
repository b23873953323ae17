"""Small Python functions with a docstring: a reduction of a mapped and filtered list, or a short classic.

Reductions, maps and filters combine freely; whole combinations are held out from training. Answers are
judged by running them.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from .base import Family, Pieces, Sample, assemble, reword
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
    "Write code that {task}.",
    "Please write Python code that {task}.",
    "Function that {task}.",
    "I want a function that {task}.",
    "Show me a Python function that {task}.",
    "Code a function that {task}.",
)
_TO_REQUESTS = (
    "Write a Python function to {task}.",
    "Write a function to {task}.",
    "Write Python code to {task}.",
    "Please write a function to {task}.",
    "Create a function to {task}.",
    "How do I {task} in Python?",
    "Python function to {task}.",
    "Please write Python code to {task}.",
    "Code to {task}.",
    "I need a function to {task}.",
    "How can I {task} in Python?",
)
# What hurried people type instead.
_SHORT = {
    "function": ("func", "fn", "def"),
    "Function": ("func", "fn"),
    "numbers": ("nums",),
    "number": ("num",),
    "string": ("str",),
    "Python": ("py",),
    "that": ("which",),
    "Write": ("make", "give me"),
    "list": ("array",),
    "returns": ("return",),
}
_SHORT_WORDS = re.compile(rf"\b({'|'.join(_SHORT)})\b")


@dataclass(frozen=True)
class _Block:
    """A building block: how it is asked for (the docstring uses the first way) and how it is written."""

    phrases: tuple[str, ...]
    code: str
    name: str = ""


# What happens to each x: "the squares of the numbers".
_NO_MAP = _Block(("",), "x")
_NUMBER_MAPS = (
    _Block(("squares",), "x * x", "squares"),
    _Block(("cubes",), "x ** 3", "cubes"),
    _Block(("doubles",), "2 * x", "doubles"),
    _Block(("triples",), "3 * x", "triples"),
    _Block(("halves",), "x / 2", "halves"),
    _Block(("absolute values", "magnitudes"), "abs(x)", "absolute_values"),
    _Block(("negatives", "opposites"), "-x", "negatives"),
    _Block(("last digits",), "x % 10", "last_digits"),
)
_LENGTHS = _Block(("lengths",), "len(x)", "lengths")
_WORD_MAPS = (
    _Block(("first letters", "initials"), "x[0]", "first_letters"),
    _Block(("last letters",), "x[-1]", "last_letters"),
    _Block(("upper case forms", "uppercase versions"), "x.upper()", "upper_case"),
    _Block(("lower case forms", "lowercase versions"), "x.lower()", "lower_case"),
    _Block(("reversed forms", "reverses"), "x[::-1]", "reverses"),
)

# Which x are kept. Adjectives stand before the noun ("the even numbers"), clauses behind it.
_ADJECTIVES = (
    _Block(("even",), "x % 2 == 0", "even"),
    _Block(("odd",), "x % 2 == 1", "odd"),
    _Block(("positive",), "x > 0", "positive"),
    _Block(("negative",), "x < 0", "negative"),
    _Block(("nonzero", "non-zero"), "x != 0", "nonzero"),
)
_NUMBER_CLAUSES = (
    _Block(("greater than {n}", "above {n}", "larger than {n}"), "x > {n}", "large"),
    _Block(("less than {n}", "below {n}", "smaller than {n}"), "x < {n}", "small"),
    _Block(("divisible by {n}",), "x % {n} == 0", "divisible"),
)
_WORD_CLAUSES = (
    _Block(("longer than {n} letters",), "len(x) > {n}", "long"),
    _Block(("shorter than {n} letters",), "len(x) < {n}", "short"),
    _Block(("starting with {c}", "that start with {c}"), 'x[0] == "{c}"', "starting"),
    _Block(("ending with {c}", "that end with {c}"), 'x[-1] == "{c}"', "ending"),
    _Block(("containing {c}", "that contain {c}"), '"{c}" in x', "containing"),
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
    _Block(
        ("the sum of", "the total of", "the sum of"),
        "return sum({x} for x in {items}{where})",
        "sum_of",
    ),
    _Block(
        ("the largest of", "the maximum of", "the max of", "the biggest of", "the highest of"),
        "return max({x} for x in {items}{where})",
        "largest",
    ),
    _Block(
        ("the smallest of", "the minimum of", "the min of", "the lowest of"),
        "return min({x} for x in {items}{where})",
        "smallest",
    ),
    _Block(("the average of", "the mean of", "the avg of"), _AVERAGE, "average"),
    _Block(("the product of",), _PRODUCT, "product_of"),
)
_SORTED = _Block(("a sorted list of",), "return sorted({x} for x in {items}{where})", "sorted")
_LIST = _Block(("a list of", "the list of"), "return [{x} for x in {items}{where}]", "list_of")
_COUNT = _Block(
    ("the number of", "the count of"), "return len([x for x in {items}{where}])", "count"
)
_LONGEST = _Block(
    ("the longest of",), "return max([x for x in {items}{where}], key=len)", "longest"
)
_SHORTEST = _Block(
    ("the shortest of",), "return min([x for x in {items}{where}], key=len)", "shortest"
)
_ALL = _Block(("whether all",), "return all({test} for x in {items})", "all")
_ANY = _Block(("whether any",), "return any({test} for x in {items})", "any")

# What may be said with one verb: "adds the even numbers".
_VERBS = {
    "sum_of": ("adds", "adds up", "sums", "sums up", "totals"),
    "product_of": ("multiplies",),
    "count": ("counts",),
    "sorted": ("sorts",),
    "list_of": ("lists", "collects", "returns", "gets", "gives"),
    "average": ("averages",),
}


@dataclass(frozen=True)
class _Plan:
    """One function to write: reduction, map, filter and what the list holds."""

    noun: str
    reduction: _Block
    mapping: _Block = _NO_MAP
    adjective: _Block | None = None
    clause: _Block | None = None

    @property
    def test(self) -> str:
        kept = self.adjective or self.clause
        return kept.code if kept else ""


def _filled(rng: random.Random, part: _Block) -> _Block:
    """The part with its number or letter drawn."""
    n = rng.randint(2, 9) if "%" in part.code or "len" in part.code else rng.randint(1, 20)
    values = {"n": n, "c": rng.choice("bcdefgklmnoprst")}
    return _Block(
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
                f"{plan.noun}",
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


def _verb_statement(rng: random.Random, plan: _Plan, where: str) -> str:
    """The plan with its verb: "adds the squares of the even numbers in a list"."""
    verb = rng.choice(_VERBS[plan.reduction.name])
    adjective = f"{rng.choice(plan.adjective.phrases)} " if plan.adjective else ""
    clause = f" {rng.choice(plan.clause.phrases)}" if plan.clause else ""
    mapped = rng.choice(plan.mapping.phrases)
    if mapped and not adjective and not clause and plan.noun == "numbers" and rng.random() < 0.3:
        return f"{verb} {mapped}"
    of = f"the {mapped} of " if mapped else ""
    every = rng.choice(("the ", "all ", ""))
    return f"{verb} {of}{every}{adjective}{plan.noun}{clause}{where}"


def _hurried(rng: random.Random, prompt: str) -> str:
    """The prompt with some words cut short, and perhaps without articles."""
    prompt = _SHORT_WORDS.sub(
        lambda m: rng.choice(_SHORT[m[0]]) if rng.random() < 0.5 else m[0], prompt
    )
    prompt = prompt.replace("a array", "an array")
    return re.sub(r"\b(the|a|an) ", "", prompt) if rng.random() < 0.5 else prompt


def _base_form(phrase: str) -> str:
    """A phrase in the third person as one that follows "to"."""
    verb, _, rest = phrase.partition(" ")
    verb = f"{verb[:-3]}y" if verb.endswith("ies") else verb[:-1]
    return f"{verb} {rest}"


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


def _request(rng: random.Random, form: str, task: str, name: str | None = None) -> str:
    """The prompt for a task in the third person; ``name`` is the wanted name of the function."""
    task = _base_form(task) if form in _TO_REQUESTS else task
    prompt = reword(rng, form).format(task=task)
    if rng.random() < 0.3:
        prompt = _hurried(rng, prompt)
    if name is None:
        return prompt
    return f"{prompt.rstrip('.?')}. {rng.choice(('Name it', 'Call it'))} {name}."


def _draw_form(rng: random.Random) -> str:
    return rng.choice(_REQUESTS if rng.random() < 0.6 else _TO_REQUESTS)


def _task(rng: random.Random, plan: _Plan) -> str:
    """The plan as a task in the third person."""
    where = rng.choice((" in a list", " in a list", " of a list", " in the list"))
    if plan.reduction.name in _VERBS and rng.random() < 0.4:
        return _verb_statement(rng, plan, where if rng.random() < 0.7 else "")
    verbs = ("returns", "computes", "gives", "finds", "gets")
    if plan.reduction in (_ALL, _ANY):
        verbs = ("returns", "checks", "tells")
    if plan.noun in plan.reduction.name or rng.random() < 0.85:
        return f"{rng.choice(verbs)} {_statement(plan, rng.choice, where)}"
    return f"{rng.choice(verbs)} {_statement(plan, rng.choice, '')}"


_BINDS = re.compile(r"^def \w+\((.*)\):|^\s+for (.+) in |^\s+([\w, ]+?) = ")


def _bound(line: str) -> set[str]:
    """The names that a line introduces."""
    found = _BINDS.match(line)
    return set(re.findall(r"\w+", " ".join(filter(None, found.groups())))) if found else set()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _needs(lines: list[str], index: int) -> tuple[int, ...]:
    """The earlier lines that name what this line uses, and the one that opens its block."""
    line = lines[index]
    if index == 0 or line.lstrip().startswith('"""'):
        return ()
    used = set(re.findall(r"\w+", line))
    needed = {i for i in range(index) if _bound(lines[i]) & used}
    openers = [
        i for i in range(1, index) if lines[i].endswith(":") and _indent(lines[i]) < _indent(line)
    ]
    return tuple(sorted(needed.union(openers[-1:])))


def _pieces(source: str) -> Pieces:
    """The lines of a function, each with the lines that it needs; an indent belongs to the line before, since
    it is one token with the newline."""
    lines = source.split("\n")
    breaks = ["\n" + " " * _indent(line) for line in lines[1:]] + [""]
    return [
        (line.lstrip() + end, _needs(lines, i))
        for i, (line, end) in enumerate(zip(lines, breaks, strict=True))
    ]


def _draw_composed(rng: random.Random) -> Sample:
    plan = _draw_plan(rng)
    own_name = made_up(rng).lower() if rng.random() < 0.12 else None
    combination = (plan.noun, plan.reduction.name, plan.mapping.name, plan.test)
    response, parts = assemble(_pieces(_function(plan, own_name or _canonical_name(plan))))
    return Sample(
        family="code",
        key="/".join(combination),
        prompt=_request(rng, _draw_form(rng), _task(rng, plan), own_name),
        response=response,
        parts=parts,
        facts={"kind": plan.noun},
    )


def _draw_classic(rng: random.Random) -> Sample:
    classic = rng.choice(CLASSICS)
    phrase = rng.choice(classic.phrases)
    form = _draw_form(rng)
    response, parts = assemble(_pieces(classic.source))
    return Sample(
        family="code",
        key=f"classic/{phrase}/{form}",
        prompt=_request(rng, form, phrase),
        response=response,
        parts=parts,
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
        ["bulb civic dread eye fluff gong kick level madam noun onto pup roar seas tent".split()],
        [
            "bathtub chic dad escape fief going kayak loyal mum nation otto plump river species treat".split()
        ],
    ],
    "text": [["level"], ["Hello World"], ["a quick brown fox 42"], ["eve sees"], ["Z"]],
    "text, text": [["banana", "a"], ["level", "l"], ["abc", "z"], ["abc", "abc"], ["cab", "abc"]],
    "text, number": [["hello", 2], ["a", 3], ["world wide", 4]],
    "integer": [[1], [2], [3], [4], [7], [9], [10], [12], [100], [1000]],
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
