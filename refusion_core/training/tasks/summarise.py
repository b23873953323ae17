"""A short paragraph with its facts spread out and some chatter between them, to be told in one sentence
or in bullets of fixed form."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from .base import Family, Pieces, Sample, assemble, reword
from .words import (
    DAYS,
    FIRST_NAMES,
    HE,
    JOBS,
    LAST_NAMES,
    MONTHS,
    PETS,
    a_or_an,
    city,
    made_up,
)

_SENTENCE_FORMS = (
    "Summarise: {text}",
    "Summarize this: {text}",
    "Summarise this in one sentence: {text}",
    "Please sum this up: {text}",
    "Give me a one sentence summary: {text}",
    "tldr: {text}",
    "Summary please: {text}",
    "Shorten this to one sentence: {text}",
    "What happened, in one sentence? {text}",
    "{text} Summarise this.",
    "{text}\nSum it up in one sentence.",
    "{text} Can you summarize that?",
)
_BULLET_FORMS = (
    "Summarise in bullets: {text}",
    "Summarize this as bullet points: {text}",
    "Bullet points please: {text}",
    "Give me the key facts as bullets: {text}",
    "List the facts in bullet points: {text}",
    "Make bullets of this: {text}",
    "Please sum this up in bullets: {text}",
    "bullets: {text}",
    "{text} Summarise this in bullet points.",
    "{text}\nKey facts as bullets please.",
)

_SHOPS = "bakery bookshop cafe cinema gallery gym hotel library pharmacy restaurant school theatre".split()
_BUILDINGS = "bridge castle church hall hospital library museum palace station tower".split()
_FESTIVALS = (
    "art book cheese dance film flower food jazz kite lantern light music tea theatre wine".split()
)
_PLACES = "barn boat car cave garage lake pipe river roof sewer tree truck tunnel well".split()
_TOPICS = "birds bread bridges chess clouds dragons gardens honey islands maps planets rivers ships tea".split()
_SKIES = "fog frost hail rain snow storms sunshine thunder wind".split()
_VEHICLES = "bike boat bus car plane ship train tram".split()
_CONTESTS = "baking chess cooking dance drawing music poetry quiz sailing singing".split()


@dataclass(frozen=True)
class _Kind:
    """What paragraphs of a kind are made of.

    ``lead`` opens (it names who or what it is about), ``details`` are told after it in any order, each in
    one of its ways; ``summary`` and ``bullets`` are cut by "|" where independent pieces meet.
    """

    leads: tuple[str, ...]
    details: tuple[tuple[str, ...], ...]
    asides: tuple[str, ...]
    summary: str
    bullets: str


_KINDS = {
    "opening": _Kind(
        (
            "{who} always dreamed of having a {shop}.",
            "Everybody on the street knows {who}, who runs a {shop}.",
            "{who} is the proud owner of a {shop}.",
        ),
        (
            ("The {shop} is in {city}.", "{She} chose {city} for it.", "You find it in {city}."),
            ("{She} opened it in {year}.", "It opened in {year}.", "The doors opened in {year}."),
        ),
        ("It has {n} chairs.", "The walls are {colour}.", "{She} gets up early every day."),
        "{who}| opened a {shop}| in {city}| in {year}.",
        "who: {who}|what: opened a {shop}|where: {city}|when: {year}",
    ),
    "company": _Kind(
        (
            "{company} is a company that makes {goods_many}.",
            "The company {company} is known for its {goods_many}.",
        ),
        (
            ("It will hire {count} people.", "It is looking for {count} new workers."),
            (
                "The jobs are in {city}.",
                "The new office is in {city}.",
                "All of them will work in {city}.",
            ),
            ("The work starts in {month}.", "They begin in {month}."),
        ),
        ("The boss is very happy.", "Its logo is {colour}.", "It has {n} rivals."),
        "{company}| will hire {count} people| in {city}| in {month}.",
        "who: {company}|what: will hire {count} people|where: {city}|when: {month}",
    ),
    "festival": _Kind(
        (
            "The {festival} festival was a great success.",
            "Once again there was a {festival} festival.",
            "The {festival} festival is over.",
        ),
        (
            ("It took place in {city}.", "{city} hosted it.", "It was held in {city}."),
            ("{count} people came.", "It drew {count} people.", "In all, {count} visitors came."),
            ("It was in {month}.", "It began in {month}.", "It was held in {month}."),
        ),
        ("The tents were {colour}.", "The food was good.", "There were {n} stages."),
        "The {festival} festival| in {city}| drew {count} people| in {month}.",
        "what: {festival} festival|where: {city}|how many: {count} people|when: {month}",
    ),
    "match": _Kind(
        (
            "{city} played {town} on {day}.",
            "{town} played {city} on {day}.",
            "On {day}, {town} met {city}.",
            "On {day}, {city} met {town}.",
            "It was a big game on {day}: {city} against {town}.",
        ),
        (
            (
                "{city} won {high} to {low}.",
                "In the end {city} won by {high} to {low}.",
                "The score was {high} to {low} for {city}.",
            ),
        ),
        (
            "The grass was wet.",
            "The fans sang all night.",
            "There were {n} fouls.",
            "The ball was {colour}.",
        ),
        "{city}| beat {town}| {high} to {low}| on {day}.",
        "winner: {city}|loser: {town}|score: {high} to {low}|when: {day}",
    ),
    "building": _Kind(
        (
            "Many people visit the {building} in {city}.",
            "The {building} in {city} is famous.",
            "In {city} you can see a beautiful {building}.",
        ),
        (
            ("It was built in {year}.", "It dates from {year}.", "Workers finished it in {year}."),
            (
                "It is {count} metres high.",
                "It rises {count} metres.",
                "Its height is {count} metres.",
            ),
        ),
        ("Its roof is {colour}.", "Tickets cost {n} euros.", "Pigeons love it."),
        "The {building}| in {city}| was built in {year}| and is {count} metres high.",
        "what: {building}|where: {city}|built: {year}|height: {count} metres",
    ),
    "rescue": _Kind(
        (
            "{who} found a {pet} in trouble.",
            "A {pet} was in trouble, but {who} came to help.",
            "{who} is a hero to one small {pet}.",
        ),
        (
            (
                "The animal was stuck in a {place}.",
                "It was trapped in a {place}.",
                "It sat in a {place}.",
            ),
            ("It happened in {city}.", "All this was in {city}."),
            ("The rescue was on {day}.", "{She} got it out on {day}."),
        ),
        (
            "It was hungry.",
            "{She} used a {colour} rope.",
            "It took {n} hours.",
            "The sky was grey.",
        ),
        "{who}| rescued a {pet}| from a {place}| in {city}| on {day}.",
        "who: {who}|what: rescued a {pet}|from: a {place}|where: {city}|when: {day}",
    ),
    "weather": _Kind(
        (
            "Here is the forecast for {city}.",
            "People in {city} look at the sky.",
            "What a week in {city}.",
        ),
        (
            (
                "There will be {sky} on {day}.",
                "On {day}, {sky} will come.",
                "Expect {sky} on {day}.",
            ),
            (
                "It will be {n} degrees.",
                "The temperature will be {n} degrees.",
                "Expect {n} degrees.",
            ),
        ),
        (
            "Take a {colour} coat.",
            "The birds are quiet.",
            "Last week was better.",
            "Children are glad.",
        ),
        "{city}| expects {sky}| and {n} degrees| on {day}.",
        "where: {city}|what: {sky}|degrees: {n}|when: {day}",
    ),
    "product": _Kind(
        (
            "{company} has made a new {goods}.",
            "There is a new {goods} from {company}.",
            "The people at {company} are proud of their new {goods}.",
        ),
        (
            ("It costs {n} euros.", "The price is {n} euros.", "You can have it for {n} euros."),
            (
                "It will be in shops in {month}.",
                "Sales start in {month}.",
                "It comes out in {month}.",
            ),
        ),
        (
            "It is {colour}.",
            "Fans like it a lot.",
            "It took {count} days to design.",
            "The box is small.",
        ),
        "{company}| will sell a new {goods}| for {n} euros| in {month}.",
        "who: {company}|what: new {goods}|price: {n} euros|when: {month}",
    ),
    "book": _Kind(
        ("{who} works as {a_job}.", "{who} is {a_job}.", "Meet {who}, {a_job}."),
        (
            ("{She} wrote a book about {topic}.", "{Her} book is about {topic}."),
            (
                "{Her} book came out in {year}.",
                "{Her} book was published in {year}.",
                "Shops had {Her_small} book in {year}.",
            ),
        ),
        (
            "The cover is {colour}.",
            "It has {count} pages.",
            "Critics liked it.",
            "{She} lives in {city}.",
        ),
        "{who},| {a_job},| wrote a book about {topic}| in {year}.",
        "who: {who}|job: {job}|what: book about {topic}|when: {year}",
    ),
    "prize": _Kind(
        (
            "{who} went to the {contest} contest in {city}.",
            "There was a {contest} contest in {city}, and {who} took part.",
        ),
        (
            (
                "{She} won {count} euros.",
                "{Her} prize was {count} euros.",
                "First prize was {count} euros.",
            ),
            ("It took place on {day}.", "The final was on {day}.", "The contest was on {day}."),
        ),
        ("{She} wore a {colour} hat.", "There were {n} judges.", "{She} was very nervous."),
        "{who}| won {count} euros| at the {contest} contest| in {city}| on {day}.",
        "who: {who}|what: won {count} euros|contest: {contest}|where: {city}|when: {day}",
    ),
    "trip": _Kind(
        ("{who} left {city} on {day}.", "On {day}, {who} set off from {city}."),
        (
            (
                "{She} went by {vehicle}.",
                "{She} took the {vehicle}.",
                "{She} travelled by {vehicle}.",
            ),
            ("{She} wanted to see {town}.", "The trip went to {town}.", "{She} arrived in {town}."),
        ),
        (
            "{Her} bag was {colour}.",
            "{She} read a book.",
            "It took {n} hours.",
            "The view was lovely.",
        ),
        "{who}| travelled from {city}| to {town}| by {vehicle}| on {day}.",
        "who: {who}|from: {city}|to: {town}|by: {vehicle}|when: {day}",
    ),
    "theft": _Kind(
        (
            "Somebody stole a {goods} on {day}.",
            "On {day} a {goods} was stolen.",
            "A {goods} has been missing since {day}.",
        ),
        (
            ("It belonged to {who}.", "The owner is {who}.", "{who} owned it."),
            ("It happened in {city}.", "The police in {city} are looking for it."),
        ),
        ("It was {colour}.", "It cost {n} euros.", "The door was open.", "A dog barked."),
        "The {goods}| of {who}| was stolen| in {city}| on {day}.",
        "what: {goods} stolen|owner: {who}|where: {city}|when: {day}",
    ),
}
_COUNTABLE = """
bag basket bell book bowl camera cap carpet chair clock coat comb cup desk drum fan fork guitar hammer hat
jacket jar kettle knife ladder lamp mirror mug pan pen pencil phone pillow radio rope saw scarf shirt sofa
spoon stamp tent towel vase wallet watch
""".split()


def _person(rng: random.Random) -> dict[str, str]:
    """A name with its pronouns: those of a made-up first name are drawn."""
    made = rng.random() < 0.12
    first = made_up(rng) if made else rng.choice(FIRST_NAMES)
    last = made_up(rng) if rng.random() < 0.12 else rng.choice(LAST_NAMES)
    she = rng.random() < 0.5 if made else first not in HE
    who = first if rng.random() < 0.3 else f"{first} {last}"
    return {
        "who": who,
        "She": "She" if she else "He",
        "Her": "Her" if she else "His",
        "Her_small": "her" if she else "his",
    }


def _plural(noun: str) -> str:
    if noun.endswith("fe"):
        return f"{noun[:-2]}ves"
    if noun.endswith("f"):
        return f"{noun[:-1]}ves"
    return f"{noun}es" if noun.endswith("ch") else f"{noun}s"


def _facts(rng: random.Random) -> dict[str, str]:
    """Values for every field that a kind may have."""
    low, high = sorted(rng.sample(range(10), 2))
    here = city(rng)
    there = city(rng)
    while there == here:
        there = city(rng)
    job, goods = rng.choice(JOBS), rng.choice(_COUNTABLE)
    return {
        **_person(rng),
        "city": here,
        "town": there,
        "company": made_up(rng),
        "goods": goods,
        "goods_many": _plural(goods),
        "shop": rng.choice(_SHOPS),
        "building": rng.choice(_BUILDINGS),
        "festival": rng.choice(_FESTIVALS),
        "place": rng.choice(_PLACES),
        "pet": rng.choice(PETS),
        "topic": rng.choice(_TOPICS),
        "sky": rng.choice(_SKIES),
        "vehicle": rng.choice(_VEHICLES),
        "contest": rng.choice(_CONTESTS),
        "job": job,
        "a_job": a_or_an(job),
        "colour": rng.choice(("black", "blue", "brown", "green", "red", "white", "yellow")),
        "year": str(rng.randint(1900, 2024)),
        "day": rng.choice(DAYS),
        "month": rng.choice(MONTHS),
        "low": str(low),
        "high": str(high),
        "n": str(rng.randint(2, 38)),
        "count": str(rng.randint(40, 900)),
    }


def _paragraph(rng: random.Random, kind: _Kind) -> str:
    """A lead, the details in any order, and one or two asides among them."""
    told = [rng.choice(ways) for ways in kind.details]
    room = max(1, min(2, 3 - len(told)))
    told += rng.sample(kind.asides, rng.randint(1, room))
    rng.shuffle(told)
    return " ".join([rng.choice(kind.leads), *told])


def _pieces(kind: _Kind, facts: dict[str, str], bullets: bool) -> Pieces:
    """The answer in pieces, each of which the prompt alone determines."""
    texts = (kind.bullets if bullets else kind.summary).format(**facts).split("|")
    if bullets:
        texts = [f"- {text}\n" for text in texts[:-1]] + [f"- {texts[-1]}"]
    return [(text, ()) for text in texts]


def draw(rng: random.Random) -> Sample:
    name = rng.choice(tuple(_KINDS))
    kind, facts = _KINDS[name], _facts(rng)
    bullets = rng.random() < 0.35
    form = reword(rng, rng.choice(_BULLET_FORMS if bullets else _SENTENCE_FORMS))
    response, parts = assemble(_pieces(kind, facts, bullets))
    return Sample(
        family="summarise",
        key=f"{name}:{kind.summary.format(**facts)}",
        prompt=form.format(text=_paragraph(rng, kind).format(**facts)),
        response=response,
        parts=parts,
    )


def _normal(text: str) -> str:
    """The text without differences of white space, of case at the start and of the final stop."""
    lines = [re.sub(r"\s+", " ", line).strip() for line in text.strip().splitlines()]
    return "\n".join(line for line in lines if line).rstrip(".").lower()


def check(sample: Sample, text: str) -> bool:
    """Whether the text is the expected summary, but for white space, case and the final stop."""
    return _normal(text) == _normal(sample.response)


FAMILY = Family(name="summarise", draw=draw, check=check)
