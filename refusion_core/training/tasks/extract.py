"""A sentence about a person, an order, an event, a booking or a contact, to be turned into a JSON object."""

from __future__ import annotations

import json
import random
from typing import Any

from .base import Family, Pieces, Sample, assemble, reword
from .words import ITEMS, JOBS, MONTHS, a_or_an, city, made_up, person

_NAMED_KEYS = (
    "Extract the {keys} as JSON: {sentence}",
    "Give the {keys} as JSON: {sentence}",
    "Return JSON with the keys {keys}: {sentence}",
    "Please get {keys} as JSON: {sentence}",
    "json with {keys}: {sentence}",
    "JSON of {keys} please: {sentence}",
    "Find {keys} and answer in JSON: {sentence}",
    "Make a JSON object with {keys}: {sentence}",
    "{sentence} Extract the {keys} as JSON.",
    "{sentence} Write JSON with {keys}.",
    "{sentence}\nPlease give me {keys} as JSON.",
)
_ALL_KEYS = (
    "Turn this into JSON: {sentence}",
    "Convert to JSON: {sentence}",
    "Extract the data as JSON: {sentence}",
    "Write this {kind} as JSON: {sentence}",
    "Please make JSON of this: {sentence}",
    "json: {sentence}",
    "to json: {sentence}",
    "Give me this {kind} in JSON: {sentence}",
    "What is this as JSON? {sentence}",
    "Can you put this into JSON? {sentence}",
    "{sentence} Turn this into JSON.",
    "{sentence}\nMake that JSON please.",
)

# Fields in capitals carry an article.
_PERSON_FORMS = (
    "{name} is {ARTICLE} {age} year old {job} from {city}.",
    "{name}, {age}, works as {JOB} in {city}.",
    "{name} lives in {city}, is {age} years old and works as {JOB}.",
    "Meet {name}, {JOB} of {age} from {city}.",
    "{name}, {job}, {age}, lives in {city}",
    "{name} ({age}) is {JOB} and comes from {city}.",
    "In {city} we met {JOB} called {name}, aged {age}.",
)
_ORDER_FORMS = (
    "{customer} ordered {quantity} {item} for {price} euros.",
    "{customer} bought {quantity} {item} and paid {price} euros.",
    "An order of {quantity} {item} at {price} euros came from {customer}.",
    "We sold {quantity} {item} to {customer} for {price} euros.",
    "{customer}: {quantity} {item}, {price} euros",
    "For {price} euros {customer} got {quantity} {item}.",
)
_EVENT_FORMS = (
    "The {event} takes place in {city} on {date} at {time}.",
    "On {date} there is {EVENT} in {city}, starting at {time}.",
    "Join us for the {event} on {date} at {time} in {city}.",
    "{city} hosts {EVENT} on {date}. It starts at {time}.",
    "{event}, {city}, {date}, {time}",
    "Come to {city} on {date}! The {event} begins at {time}.",
)
_BOOKING_FORMS = (
    "{guest} booked room {room} for {nights} nights from {date}.",
    "Room {room} is for {guest}, who stays {nights} nights from {date}.",
    "From {date}, {guest} will stay {nights} nights in room {room}.",
    "Please book room {room} for {guest}: {nights} nights from {date}.",
    "{guest}, room {room}, {nights} nights from {date}",
    "{guest} arrives on {date} and stays {nights} nights in room {room}.",
)
_CONTACT_FORMS = (
    "{name} works at {company}. Call {phone} or write to {email}.",
    "You can reach {name} of {company} at {phone} or {email}.",
    "Write to {email} or call {phone} to speak to {name} of {company}.",
    "{name}, {company}, {phone}, {email}",
    "My name is {name}, I am with {company}. My number is {phone} and my mail is {email}.",
    "The phone of {name} from {company} is {phone}, the mail is {email}.",
)
_AN_AGES = ("18", *(str(age) for age in range(80, 90)))
_THEMES = "art book chess dance film food garden history jazz math music poetry robot science wine".split()
_GATHERINGS = (
    "class concert contest course evening fair festival meeting talk tour workshop".split()
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
        "date": f"{rng.randint(1, 28)} {rng.choice(MONTHS)}",
        "time": f"{rng.randint(8, 21)}:{rng.choice(('00', '15', '30', '45'))}",
    }
    return record, f"{record['event']} {record['city']} {record['date']}", _EVENT_FORMS


def _booking(rng: random.Random) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    record = {
        "guest": person(rng),
        "room": rng.randint(2, 99),
        "nights": rng.randint(2, 20),
        "date": f"{rng.randint(1, 28)} {rng.choice(MONTHS)}",
    }
    return record, record["guest"], _BOOKING_FORMS


def _contact(rng: random.Random) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    name, company = person(rng), made_up(rng)
    record = {
        "name": name,
        "company": company,
        "phone": f"{rng.randint(100, 999)}-{rng.randint(1000, 9999)}",
        "email": f"{name.split()[0]}@{company}.com".lower(),
    }
    return record, name, _CONTACT_FORMS


_KINDS = {
    "person": _person,
    "order": _order,
    "event": _event,
    "booking": _booking,
    "contact": _contact,
}


def _listing(rng: random.Random, keys: list[str]) -> str:
    if len(keys) == 1 or rng.random() < 0.3:
        return ", ".join(keys)
    return f"{', '.join(keys[:-1])} and {keys[-1]}"


def _pieces(record: dict[str, Any]) -> Pieces:
    """The JSON text in a piece per key, which the prompt alone determines."""
    pairs = [f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in record.items()]
    texts = [f"{pair},\n  " for pair in pairs[:-1]] + [f"{pairs[-1]}\n}}"]
    return [(f"{{\n  {texts[0]}", ()), *((text, ()) for text in texts[1:])]


def draw(rng: random.Random) -> Sample:
    kind = rng.choice(tuple(_KINDS))
    record, key, forms = _KINDS[kind](rng)
    articles = {k.upper(): a_or_an(record[k]) for k in ("job", "event") if k in record}
    articles["ARTICLE"] = "an" if str(record.get("age", "")) in _AN_AGES else "a"
    sentence = rng.choice(forms).format(**record, **articles)
    if rng.random() < 0.6:
        keys = rng.sample(tuple(record), rng.randint(1 if rng.random() < 0.3 else 2, len(record)))
        form = reword(rng, rng.choice(_NAMED_KEYS))
    else:
        keys = list(record)
        form = reword(rng, rng.choice(_ALL_KEYS))
    if form.startswith("{sentence} ") and sentence[-1] != ".":
        sentence += "."
    wanted = {name: record[name] for name in keys}
    response, parts = assemble(_pieces(wanted))
    return Sample(
        family="extract",
        key=f"{kind}:{key}",
        prompt=form.format(keys=_listing(rng, keys), kind=kind, sentence=sentence),
        response=response,
        parts=parts,
        facts={"record": wanted},
    )


def check(sample: Sample, text: str) -> bool:
    """Whether the text is JSON with exactly the wanted keys and values."""
    try:
        return json.loads(text) == sample.facts["record"]
    except ValueError:
        return False


FAMILY = Family(name="extract", draw=draw, check=check)
