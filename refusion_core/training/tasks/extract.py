"""A sentence about a person, an order or an event, to be turned into a JSON object."""

from __future__ import annotations

import json
import random
from typing import Any

from .base import Family, Sample, vary_case
from .words import ITEMS, JOBS, city, person

_NAMED_KEYS = (
    "Extract the {keys} as JSON: {sentence}",
    "Give the {keys} as JSON: {sentence}",
    "Return JSON with the keys {keys}: {sentence}",
    "{sentence} Extract the {keys} as JSON.",
    "{sentence} Write JSON with {keys}.",
)
_ALL_KEYS = (
    "Turn this into JSON: {sentence}",
    "Convert to JSON: {sentence}",
    "Extract the data as JSON: {sentence}",
    "Write this {kind} as JSON: {sentence}",
    "{sentence} Turn this into JSON.",
)

_PERSON_FORMS = (
    "{name} is a {age} year old {job} from {city}.",
    "{name}, {age}, works as a {job} in {city}.",
    "{name} lives in {city}, is {age} years old and works as a {job}.",
    "Meet {name}, a {job} of {age} from {city}.",
)
_ORDER_FORMS = (
    "{customer} ordered {quantity} {item} for {price} euros.",
    "{customer} bought {quantity} {item} and paid {price} euros.",
    "An order of {quantity} {item} at {price} euros came from {customer}.",
    "We sold {quantity} {item} to {customer} for {price} euros.",
)
_EVENT_FORMS = (
    "The {event} takes place in {city} on {date} at {time}.",
    "On {date} there is {article} {event} in {city}, starting at {time}.",
    "Join us for the {event} on {date} at {time} in {city}.",
    "{city} hosts {article} {event} on {date}. It starts at {time}.",
)
_THEMES = "art book chess dance film food garden history jazz math music poetry robot science wine".split()
_GATHERINGS = (
    "class concert contest course evening fair festival meeting talk tour workshop".split()
)
_MONTHS = (
    "January February March April May June July August September October November December".split()
)


def _person(rng: random.Random) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    record = {
        "name": person(rng),
        "age": rng.randint(18, 89),
        "job": rng.choice(JOBS),
        "city": city(rng),
    }
    return record, record["name"], _PERSON_FORMS


def _order(rng: random.Random) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    record = {
        "customer": person(rng),
        "item": rng.choice(ITEMS),
        "quantity": rng.randint(2, 60),
        "price": rng.randint(5, 400),
    }
    return record, record["customer"], _ORDER_FORMS


def _event(rng: random.Random) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    record = {
        "event": f"{rng.choice(_THEMES)} {rng.choice(_GATHERINGS)}",
        "city": city(rng),
        "date": f"{rng.randint(1, 28)} {rng.choice(_MONTHS)}",
        "time": f"{rng.randint(8, 21)}:{rng.choice(('00', '15', '30', '45'))}",
    }
    return record, f"{record['event']} {record['city']} {record['date']}", _EVENT_FORMS


_KINDS = {"person": _person, "order": _order, "event": _event}


def _listing(keys: list[str]) -> str:
    return keys[0] if len(keys) == 1 else f"{', '.join(keys[:-1])} and {keys[-1]}"


def draw(rng: random.Random) -> Sample:
    kind = rng.choice(tuple(_KINDS))
    record, key, forms = _KINDS[kind](rng)
    article = "an" if record.get("event", "")[:1] == "a" else "a"
    sentence = rng.choice(forms).format(**record, article=article)
    if rng.random() < 0.6:
        keys = rng.sample(tuple(record), rng.randint(2, len(record)))
        form = vary_case(rng, rng.choice(_NAMED_KEYS))
    else:
        keys = list(record)
        form = vary_case(rng, rng.choice(_ALL_KEYS))
    wanted = {name: record[name] for name in keys}
    return Sample(
        family="extract",
        key=f"{kind}:{key}",
        prompt=form.format(keys=_listing(keys), kind=kind, sentence=sentence),
        response=json.dumps(wanted, indent=2, ensure_ascii=False),
        facts={"record": wanted},
    )


def check(sample: Sample, text: str) -> bool:
    """Whether the text is JSON with exactly the wanted keys and values."""
    try:
        return json.loads(text) == sample.facts["record"]
    except ValueError:
        return False


FAMILY = Family(name="extract", draw=draw, check=check)
