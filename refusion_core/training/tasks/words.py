"""Names and nouns for the task families, partly made up from syllables.

Made-up words can't be learned by heart, so a model has to copy them from the prompt.
"""

from __future__ import annotations

import random

FIRST_NAMES = """
Alice Amir Anna Ben Carla Chen Clara Daniel Diego Elena Emma Erik Fatima Felix Grace Hana Hugo Ines
Ivan Jack Jonas Julia Kenji Laura Leo Lina Lucas Maria Marco Maya Mia Mila Nadia Nina Noah Nora Oliver
Omar Paul Priya Rosa Ruth Sam Sara Sofia Tariq Thomas Tom Vera Victor Wei Yara Yuki Zoe
""".split()

# Of the first names those that are followed by "he"; all others are followed by "she".
HE = frozenset(
    """
Amir Ben Chen Daniel Diego Erik Felix Hugo Ivan Jack Jonas Kenji Leo Lucas Marco Noah Oliver Omar Paul Sam
Tariq Thomas Tom Victor Wei
""".split()
)

LAST_NAMES = """
Adams Bauer Brown Castro Costa Dubois Evans Fischer Garcia Gupta Hansen Ito Jensen Keller Khan Kim
Kowalski Lee Lopez Martin Meyer Moreau Nakamura Novak Okafor Olsen Patel Petrov Rossi Ruiz Santos Sato
Silva Singh Smith Tanaka Torres Turner Wagner Walker Wang Weber White Wilson Wood Young Zhang
""".split()

CITIES = """
Athens Berlin Bern Boston Cairo Chicago Delhi Dublin Geneva Hanoi Helsinki Kyoto Lagos Lima Lisbon
London Lyon Madrid Milan Mumbai Nairobi Oslo Paris Porto Prague Rome Seoul Shanghai Tokyo Toronto Vienna
Warsaw
""".split()

JOBS = """
baker carpenter chef dentist designer doctor driver electrician engineer farmer gardener journalist
lawyer librarian mechanic musician nurse painter pharmacist photographer pilot plumber programmer
researcher teacher translator
""".split()

ITEMS = """
apples bags balls bananas baskets batteries books bottles boxes bowls brushes cables cakes candles
carrots chairs clocks coins cups desks eggs flowers forks hats jars keys lamps lemons letters maps marbles
mirrors mugs notebooks onions oranges pears pencils pens phones photos plates postcards potatoes puzzles
radios ropes rugs shells shirts spoons stamps stickers tables tickets tomatoes towels toys umbrellas vases
""".split()

WORDS = """
bread bridge butter castle cheese cloud coffee desert dragon dream eagle engine fever field flute
forest garden guitar harbor honey island jacket jungle kettle ladder lemon magnet market meadow mirror
monkey mountain needle ocean orchid paper pepper piano planet pocket puzzle rabbit river rocket saddle
salad salt shadow silver spider spring sugar summer table tea thunder tiger tunnel velvet violin water
window winter wolf zebra
""".split()

GOODS = """
apple bag basket bell book bottle bowl bread broom brush butter cake camera candle cap carpet chair cheese
clock coat coffee comb cup desk drum fan flute fork guitar hammer hat honey jacket jar kettle knife ladder
lamp lemon mango melon milk mirror mug oil orange oven pan paper pear pen pencil pepper phone pillow plate
plum radio rice rope salt saw scarf shelf shirt soap sofa spoon stamp sugar table tea tent towel umbrella
vase wallet watch
""".split()

COLOURS = "black blue brown gold green grey orange pink purple red silver white yellow".split()

PETS = "canary cat dog duck ferret goat goldfish hamster horse lizard parrot pony rabbit snake turtle".split()

SUBJECTS = (
    "art biology chemistry dance drama french geography history math music physics spanish".split()
)

MONTHS = (
    "January February March April May June July August September October November December".split()
)

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

_ONSETS = """
Ba Be Bo Bra Da De Dor Fa Fen Ga Gri Ha Jo Ka Ke Kor La Lo Lu Ma Mar Mo Na Ne Or Pa Pel Ra Re Ro Sa Sel
Sha Ta Tor Ve Vi Wen Za Zo
""".split()
_ENDINGS = """
bor da dan den dor fa gan ka kin la lan len lin lo ma mar min na nar ne nor ra ran rek ri ro san sen ta
tan ten tis to van vek via vin vo wen zan
""".split()


def made_up(rng: random.Random) -> str:
    """A capitalised word that does not exist, of two or three syllables."""
    endings = (rng.choice(_ENDINGS) for _ in range(1 if rng.random() < 0.7 else 2))
    return rng.choice(_ONSETS) + "".join(endings)


def person(rng: random.Random) -> str:
    """A first and a last name, either of them sometimes made up."""
    first = made_up(rng) if rng.random() < 0.12 else rng.choice(FIRST_NAMES)
    last = made_up(rng) if rng.random() < 0.15 else rng.choice(LAST_NAMES)
    return f"{first} {last}"


def city(rng: random.Random) -> str:
    """A city, sometimes made up."""
    return made_up(rng) if rng.random() < 0.12 else rng.choice(CITIES)


def a_or_an(noun: str) -> str:
    """The noun with its article (for the nouns of this module, whose spelling tells their sound)."""
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"
