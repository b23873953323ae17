"""Short coherent stories about given characters in a given place, sometimes with a given thing.

What happens follows from what is asked for: the place opens the story, the animal brings its trouble and the
help it needs, so there is one right story to every request. Names are partly made up.
"""

from __future__ import annotations

import random

from .base import Family, Sample, assemble, reword
from .words import FIRST_NAMES, HE, a_or_an, made_up

# Where the hero lives, and what happens to two heroes there.
_PLACES = {
    "in the forest": ("at the edge of the forest", "lost their way", "an owl showed them the path"),
    "on the beach": ("in a hut on the beach", "found a sick whale", "they pulled it into the water"),
    "in the mountains": ("high in the mountains", "saw the snow fall", "they made a warm fire"),
    "in the city": ("in a busy street of the city", "missed the last bus", "they walked home singing"),
    "on a farm": ("on a quiet farm", "saw that the cows were gone", "they found them by the river"),
    "in a castle": ("in an old castle", "heard a strange noise", "it was only the wind"),
    "on an island": ("on a small island", "saw a ship in trouble", "they lit a big fire for it"),
    "in the desert": ("in a village in the desert", "had no more water", "a camel led them to a well"),
    "by the river": ("by a wide river", "built a small boat", "they sailed to the other side"),
    "at school": ("near the school", "forgot their homework", "they wrote it together"),
}  # fmt: skip
_NOWHERE = ("in a small town", "had nothing to do", "they played until evening")

# What troubles an animal, and what the hero does for it.
_ANIMALS = {
    "fox": ("was hungry", "gave it some bread"),
    "dog": ("was lost", "took it home"),
    "cat": ("was cold", "gave it a warm blanket"),
    "bird": ("had a broken wing", "made a soft nest for it"),
    "bear": ("wanted honey", "shared a jar of honey with it"),
    "rabbit": ("was afraid of the dark", "lit a candle for it"),
    "horse": ("was thirsty", "brought it some water"),
    "owl": ("could not sleep", "sang a quiet song to it"),
    "mouse": ("had no house", "built a small one for it"),
    "wolf": ("was lonely", "told it a long story"),
    "dragon": ("had a bad cold", "made hot tea for it"),
    "turtle": ("was very slow", "carried it for a while"),
    "frog": ("could not find its pond", "showed it the way"),
    "lion": ("had a thorn in its paw", "pulled the thorn out"),
    "elephant": ("was bored", "played a game with it"),
    "monkey": ("had stolen a hat", "asked for the hat back"),
}
_THINGS = """
lamp map kite drum book ladder rope umbrella flute basket mirror coin balloon bell telescope boat
""".split()

_FORMS = (
    "Write a short story about {who}{where}{thing}.",
    "Write a story about {who}{where}{thing}.",
    "Tell me a story about {who}{where}{thing}.",
    "Tell me a short story about {who}{where}{thing}.",
    "Please tell a story about {who}{where}{thing}.",
    "Please write a short story about {who}{where}{thing}.",
    "Make up a story about {who}{where}{thing}.",
    "I want a story about {who}{where}{thing}.",
    "Can you tell me a story about {who}{where}{thing}?",
    "A short story about {who}{where}{thing}, please.",
    "Story about {who}{where}{thing}",
    "Story: {who}{where}{thing}",
    "A bedtime story about {who}{where}{thing}.",
    "Write a few sentences about {who}{where}{thing}.",
)


def _name(rng: random.Random) -> str:
    return made_up(rng) if rng.random() < 0.12 else rng.choice(FIRST_NAMES)


def _pronoun(name: str) -> str:
    """She or he for the names that everybody knows, otherwise the name again."""
    if name not in FIRST_NAMES:
        return name
    return "he" if name in HE else "she"


def _with_animal(name: str | None, animal: str, home: str, thing: str | None) -> list:
    """Sentences with what each needs of the others; a story without a name is about a child."""
    hero, first = (name, name) if name else ("the child", "A child")
    again = _pronoun(name) if name else "the child"
    trouble, help_ = _ANIMALS[animal]
    end = "From then on they were good friends."
    if thing:
        end = f"To say thanks, the {animal} gave {hero} {a_or_an(thing)}. {end}"
    return [
        (f"{first} lived {home}. ", ()),
        (f"One day {again} met {a_or_an(animal)}. ", (0,)),
        (f"The {animal} {trouble}, so {hero} {help_}. ", (1,)),
        (end, ()),
    ]


def _with_friend(name: str, friend: str, place: tuple[str, str, str], thing: str | None) -> list:
    home, event, ending = place
    end = "They laughed about it for years."
    if thing:
        end = f"On the way they found {a_or_an(thing)} and kept it. {end}"
    return [
        (f"{name} and {friend} lived {home}. ", ()),
        (f"One day they {event}. ", (0,)),
        (f"In the end {ending}. ", (1,)),
        (end, ()),
    ]


def draw(rng: random.Random) -> Sample:
    where = rng.choice(tuple(_PLACES)) if rng.random() < 0.75 else ""
    thing = rng.choice(_THINGS) if rng.random() < 0.4 else None
    place = _PLACES.get(where, _NOWHERE)
    if rng.random() < 0.7:
        name = _name(rng) if rng.random() < 0.8 else None
        animal = rng.choice(tuple(_ANIMALS))
        who = f"{name} and {a_or_an(animal)}" if name else a_or_an(animal)
        sentences = _with_animal(name, animal, place[0], thing)
    else:
        name = _name(rng)
        friend = next(other for other in iter(lambda: _name(rng), None) if other != name)
        who = f"{name} and {friend}"
        sentences = _with_friend(name, friend, place, thing)
    response, parts = assemble(sentences)
    asked = {"who": who, "where": f" {where}" if where else "", "thing": ""}
    if thing:
        asked["thing"] = rng.choice((" with {}", " and {}")).format(a_or_an(thing))
    return Sample(
        family="story",
        key=f"{who}/{where}/{thing}",
        prompt=reword(rng, rng.choice(_FORMS)).format(**asked),
        response=response,
        parts=parts,
    )


def check(sample: Sample, text: str) -> bool:
    """Whether it is the story that follows from the request, but for white space."""
    return text.split() == sample.response.split()


FAMILY = Family(name="story", draw=draw, check=check)
