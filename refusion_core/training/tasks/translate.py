"""Everyday sentences from English to Chinese and back, made by a small grammar.

Every English sentence has one Chinese rendering and every Chinese sentence one English one (a few more English
ways to say it are only asked for in the other direction). Names of people are not translated: none occur.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from .base import Family, Pieces, Sample, assemble, reword
from .words import a_or_an


@dataclass(frozen=True)
class _Sentence:
    """One sentence in both languages, as pieces with the pieces they need; ``ways`` are more English forms."""

    english: Pieces
    chinese: Pieces
    ways: tuple[str, ...] = ()


def _pairs(text: str) -> tuple[tuple[str, ...], ...]:
    """Rows of a table: fields separated by slashes, rows by semicolons or line ends."""
    rows = text.replace("\n", ";").split(";")
    return tuple(tuple(row.strip().split("/")) for row in rows if row.strip())


_ANIMALS = _pairs("""
cat/猫/只; dog/狗/只; bird/鸟/只; horse/马/匹; rabbit/兔子/只; tiger/老虎/只; cow/牛/头; duck/鸭子/只
""")
_THINGS = _pairs("""
book/书/本; cup/杯子/个; chair/椅子/把; table/桌子/张; car/汽车/辆; bike/自行车/辆; phone/手机/部; coat/大衣/件
bag/包/个; lamp/灯/盏; map/地图/张; hat/帽子/顶; watch/手表/块; house/房子/座; key/钥匙/把; picture/画/幅
""")
_PEOPLE = _pairs("""
friend/朋友/个; teacher/老师/位; doctor/医生/位; student/学生/个; brother/哥哥/个; sister/姐姐/个
""")
_FOODS = _pairs("""
apple/苹果/个; egg/鸡蛋/个; orange/橙子/个; banana/香蕉/根; cake/蛋糕/块; potato/土豆/个; lemon/柠檬/个
""")
_DRINKS = _pairs("tea/茶; coffee/咖啡; milk/牛奶; water/水; juice/果汁")
_LIKED = _pairs("""
tea/茶; coffee/咖啡; milk/牛奶; rice/米饭; bread/面包; fish/鱼; music/音乐; cats/猫; dogs/狗; flowers/花
books/书
films/电影; winter/冬天; summer/夏天; apples/苹果; chocolate/巧克力; tennis/网球; history/历史
""")
# English pronoun or phrase, Chinese, person of the verb ("3": a third person that takes an s), the form of "be"
_SUBJECTS = _pairs("""
I/我/1/am; you/你/2/are; he/他/3/is; she/她/3/is; we/我们/1/are; they/他们/1/are; my mother/我妈妈/3/is
my father/我爸爸/3/is; my friend/我的朋友/3/is; the teacher/老师/3/is; the doctor/医生/3/is
the children/孩子们/1/are; the students/学生们/1/are
""")
_OWNERS = _pairs("my/我的; your/你的; his/他的; her/她的; our/我们的; their/他们的")
_COATS = _pairs("""
red/红色的; black/黑色的; white/白色的; brown/棕色的; yellow/黄色的; big/大; small/小; old/老; happy/快乐的
hungry/饥饿的; tired/疲惫的; quiet/安静的
""")
_DOING = _pairs("""
sleeping/睡觉/sleeps; running/跑步/runs; eating/吃东西/eats; playing/玩耍/plays
drinking water/喝水/drinks water
resting/休息/rests; singing/唱歌/sings; swimming/游泳/swims
""")
_ACTIVITIES = _pairs("""
reading a book/看书; drinking tea/喝茶; writing a letter/写信; listening to music/听音乐
watching television/看电视
cooking dinner/做晚饭; playing football/踢足球; learning Chinese/学中文; cleaning the room/打扫房间
singing/唱歌
dancing/跳舞; swimming/游泳; working/工作; sleeping/睡觉; eating breakfast/吃早饭; washing the car/洗车
""")
_ABILITIES = _pairs("""
swim/游泳; dance/跳舞; sing/唱歌; drive/开车; cook/做饭; speak Chinese/说中文; speak English/说英文
play the piano/弹钢琴; ride a bike/骑自行车; play football/踢足球; draw/画画; play chess/下棋
""")
_PLACES = _pairs("""
school/学校; the park/公园; the library/图书馆; the hospital/医院; the station/车站; the market/市场
the beach/海边
the cinema/电影院; Beijing/北京; Shanghai/上海; London/伦敦; Paris/巴黎; the airport/机场; the museum/博物馆
""")
_SPOTS = _pairs("""
in the garden/花园里; in the kitchen/厨房里; in the park/公园里; in the box/盒子里; on the table/桌子上
under the bed/床下面; on the chair/椅子上; in the car/汽车里; behind the door/门后面
next to the window/窗户旁边
at home/家里; at school/学校里
""")
_RIDES = _pairs(
    "by bus/坐公共汽车; by train/坐火车; by bike/骑自行车; by car/开车; on foot/走路; by taxi/坐出租车"
)
# when, in Chinese, and the tense
_TIMES = _pairs("""
today/今天/now; every day/每天/now; on Monday/星期一/now; on Friday/星期五/now; on Sunday/星期天/now
tomorrow/明天/will; tomorrow morning/明天早上/will; tonight/今天晚上/will; yesterday/昨天/past
yesterday evening/昨天晚上/past
""")
_QUALITIES = _pairs("""
big/大; small/小; beautiful/漂亮; new/新; old/旧; expensive/贵; cheap/便宜; clean/干净; heavy/重; dirty/脏
""")
_WEATHERS = _pairs("hot/热; cold/冷; warm/暖和; cool/凉快")
_NUMBERS = _pairs("""
one/一; two/两; three/三; four/四; five/五; six/六; seven/七; eight/八; nine/九; ten/十
""")
_PHRASES = _pairs("""
Hello./你好。; Thank you./谢谢。; Good morning./早上好。; Good evening./晚上好。; Good night./晚安。
Goodbye./再见。
How are you?/你好吗？; I love you./我爱你。; I am sorry./对不起。; You are welcome./不客气。
Nice to meet you./很高兴认识你。
What is your name?/你叫什么名字？; Happy birthday./生日快乐。; Happy new year./新年快乐。
I do not know./我不知道。
I do not understand./我不明白。; Please help me./请帮帮我。; How much is it?/多少钱？
See you tomorrow./明天见。
Where is the toilet?/洗手间在哪里？; Good luck./祝你好运。; What time is it?/现在几点？; Please come in./请进。
I am hungry./我饿了。; I am tired./我累了。; Have a good trip./一路平安。; Cheers./干杯。
Where are you?/你在哪里？
""")

_TO_CHINESE = (
    "Translate to Chinese: {text}",
    "Translate into Chinese: {text}",
    "Translate this to Chinese: {text}",
    "Please translate to Chinese: {text}",
    "Please translate: {text}",
    "Translate: {text}",
    "translate {text}",
    "In Chinese: {text}",
    "Chinese: {text}",
    'How do you say "{text}" in Chinese?',
    'How do I say "{text}" in Chinese?',
    'Say "{text}" in Chinese.',
    "Say {text} in Chinese.",
    "How do you say {text} in Chinese?",
    "How to say {text} in Chinese?",
    "{text} in Chinese",
    "What is {text} in Chinese?",
    'What does "{text}" mean in Chinese?',
    "{text} Translate this into Chinese.",
    "English to Chinese: {text}",
    "翻译成中文：{text}",
    "请翻译成中文：{text}",
    "请把这句话翻译成中文：{text}",
    "翻译：{text}",
)
_TO_ENGLISH = (
    "Translate to English: {text}",
    "Translate into English: {text}",
    "Please translate to English: {text}",
    "Please translate: {text}",
    "Translate: {text}",
    "translate {text}",
    "What does {text} mean?",
    "What is {text} in English?",
    "In English: {text}",
    "English: {text}",
    "Chinese to English: {text}",
    "翻译成英文：{text}",
    "请翻译成英文：{text}",
    "把这句话翻译成英文：{text}",
    "翻译：{text}",
    "{text} 用英文怎么说？",
)


def _plural(noun: str) -> str:
    return noun + ("es" if noun.endswith(("s", "h")) or noun == "potato" else "s")


def _capital(text: str) -> str:
    """The text with a capital letter in front and the others as they are."""
    return text[0].upper() + text[1:]


def _verb(verb: str, person: str) -> str:
    """The verb's form: the s of the third person."""
    if person != "3":
        return verb
    return {"have": "has", "go": "goes"}.get(verb, verb + "s")


def _subject_verb(subject: str, verb: str, *rest: str, mark: str = ".") -> Pieces:
    """Subject, a verb that agrees with it, and the rest."""
    tail = [(f" {text}", ()) for text in rest]
    tail[-1:] = [(tail[-1][0] + mark, ())] if tail else []
    last = "" if tail else mark
    return [(_capital(subject), ()), (f" {verb}{last}", (0,)), *tail]


def _free(*texts: str) -> Pieces:
    return [(text, ()) for text in texts]


def _doing(rng: random.Random) -> _Sentence:
    person = rng.random() < 0.3
    english, chinese, _ = rng.choice(_PEOPLE[:4] if person else _ANIMALS)
    coats = _COATS[8:] if person else _COATS  # no colours and sizes of people
    coat, coat_zh = rng.choice(coats) if rng.random() < 0.8 else ("", "")
    doing, doing_zh, does = rng.choice(_DOING)
    who = " ".join(("the", coat, english)).replace("  ", " ")
    return _Sentence(
        _free(who.capitalize(), " is", f" {doing}."),
        _free(coat_zh, chinese, "在", f"{doing_zh}。")
        if coat
        else _free(chinese, "在", f"{doing_zh}。"),
        (f"{who.capitalize()} {does}.",),
    )


def _activity(rng: random.Random) -> _Sentence:
    who, who_zh, _, be = rng.choice(_SUBJECTS)
    doing, doing_zh = rng.choice(_ACTIVITIES)
    if rng.random() < 0.5:
        return _Sentence(_subject_verb(who, be, doing), _free(who_zh, "在", f"{doing_zh}。"))
    spot, spot_zh = rng.choice(_SPOTS[:3] + _SPOTS[-2:])
    return _Sentence(
        _subject_verb(who, be, doing, spot), _free(who_zh, "在", spot_zh, f"{doing_zh}。")
    )


def _liking(rng: random.Random) -> _Sentence:
    who, who_zh, person, _ = rng.choice(_SUBJECTS)
    thing, thing_zh = rng.choice(_LIKED)
    do = "does" if person == "3" else "do"
    kind = rng.choice(("plain", "plain", "not", "ask" if who != "I" else "plain", "very"))
    if kind == "not":
        return _Sentence(
            _subject_verb(who, f"{do} not like", thing),
            _free(who_zh, "不", "喜欢", f"{thing_zh}。"),
            (f"{_capital(who)} {do}n't like {thing}.",),
        )
    if kind == "ask":
        asked = [(do.capitalize(), (1,)), (f" {who}", ()), (" like", ()), (f" {thing}?", ())]
        return _Sentence(asked, _free(who_zh, "喜欢", thing_zh, "吗？"))
    like = _verb("like", person)
    if kind == "very":
        return _Sentence(
            _subject_verb(who, like, thing, "very much"),
            _free(who_zh, "非常", "喜欢", f"{thing_zh}。"),
        )
    return _Sentence(_subject_verb(who, like, thing), _free(who_zh, "喜欢", f"{thing_zh}。"))


def _counted(rng: random.Random) -> _Sentence:
    who, who_zh, person, _ = rng.choice(_SUBJECTS)
    number, number_zh = rng.choice(_NUMBERS)
    verb, verb_zh, nouns = rng.choice(
        (
            ("have", "有", (*_ANIMALS, *_THINGS, *_FOODS)),
            ("buy", "买", (*_THINGS, *_FOODS)),
            ("want", "要", (*_THINGS, *_FOODS)),
            ("eat", "吃", _FOODS),
            ("see", "看见", (*_ANIMALS, *_THINGS)),
        )
    )
    noun, noun_zh, measure = rng.choice(nouns)
    things = noun if number == "one" else _plural(noun)
    one = (f"{_capital(who)} {_verb(verb, person)} {a_or_an(noun)}.",)
    return _Sentence(
        _subject_verb(who, _verb(verb, person), number, things),
        [(who_zh, ()), (verb_zh, ()), (number_zh, ()), (measure, (4,)), (f"{noun_zh}。", ())],
        one if number == "one" else (),
    )


def _cups(rng: random.Random) -> _Sentence:
    who, who_zh, person, _ = rng.choice(_SUBJECTS)
    number, number_zh = rng.choice(_NUMBERS[:5])
    drink, drink_zh = rng.choice(_DRINKS)
    verb, verb_zh = rng.choice((("drink", "喝"), ("want", "要"), ("buy", "买")))
    cups = "cup of" if number == "one" else "cups of"
    return _Sentence(
        _subject_verb(who, _verb(verb, person), number, cups, drink),
        _free(who_zh, verb_zh, number_zh, "杯", f"{drink_zh}。"),
        (f"{_capital(who)} {_verb(verb, person)} a cup of {drink}.",) if number == "one" else (),
    )


def _owned(rng: random.Random, nouns) -> tuple[str, str]:
    """A noun with its owner, or with "the", in both languages."""
    english, chinese, _ = rng.choice(nouns)
    if rng.random() < 0.35:
        return f"the {english}", chinese
    owner, owner_zh = rng.choice(_OWNERS)
    return f"{owner} {english}", owner_zh + chinese


def _place(rng: random.Random) -> _Sentence:
    what, what_zh = _owned(rng, (*_ANIMALS, *_THINGS[:11]))
    if rng.random() < 0.2:
        return _Sentence(_free("Where", " is", f" {what}?"), _free(what_zh, "在", "哪里？"))
    spot, spot_zh = rng.choice(_SPOTS)
    if rng.random() < 0.2:
        return _Sentence(
            _subject_verb(what, "is not", spot), _free(what_zh, "不在", f"{spot_zh}。")
        )
    return _Sentence(_subject_verb(what, "is", spot), _free(what_zh, "在", f"{spot_zh}。"))


def _going(rng: random.Random) -> _Sentence:
    who, who_zh, person, _ = rng.choice(_SUBJECTS)
    place, place_zh = rng.choice(_PLACES)
    when, when_zh, tense = rng.choice(_TIMES)
    rides = _RIDES[:2] if place[0].isupper() else _RIDES  # to another city by bus or train
    ride, ride_zh = rng.choice(rides) if rng.random() < 0.5 else ("", "")
    verb = {"now": _verb("go", person), "will": "will go", "past": "went"}[tense]
    go_zh = "去了" if tense == "past" else "去"
    english = _subject_verb(who, verb, f"to {place}", *([ride] if ride else []), when)
    return _Sentence(
        [
            (text, (0, len(english) - 1) if i == 1 else needs)
            for i, (text, needs) in enumerate(english)
        ],
        _free(who_zh, when_zh, *([ride_zh] if ride else []), go_zh, f"{place_zh}。"),
    )


def _this(rng: random.Random) -> _Sentence:
    this, this_zh = rng.choice((("this", "这"), ("that", "那")))
    noun, noun_zh, _ = rng.choice((*_PEOPLE, *_THINGS, *_ANIMALS))
    owner, owner_zh = rng.choice(_OWNERS)
    kind = rng.choice(("plain", "plain", "not", "ask"))
    if kind == "ask":
        return _Sentence(
            _free("Is", f" {this}", f" {owner}", f" {noun}?"),
            _free(this_zh, "是", owner_zh, noun_zh, "吗？"),
        )
    verb, verb_zh = (" is not", "不是") if kind == "not" else (" is", "是")
    return _Sentence(
        _free(this.capitalize(), verb, f" {owner}", f" {noun}."),
        _free(this_zh, verb_zh, owner_zh, f"{noun_zh}。"),
    )


def _quality(rng: random.Random) -> _Sentence:
    what, what_zh = _owned(rng, _THINGS)
    quality, quality_zh = rng.choice(_QUALITIES)
    how, how_zh = rng.choice(
        (("", "很"), ("", "很"), ("very ", "非常"), ("not ", "不"), ("too ", "太"))
    )
    end = "了。" if how == "too " else "。"
    return _Sentence(
        _subject_verb(what, "is", f"{how}{quality}"), _free(what_zh, how_zh, quality_zh + end)
    )


def _weather(rng: random.Random) -> _Sentence:
    weather, weather_zh = rng.choice(_WEATHERS)
    place, place_zh = rng.choice((("", ""), *_PLACES[8:12]))
    verb, when, when_zh = rng.choice(
        (("is", "today", "今天"), ("was", "yesterday", "昨天"), ("will be", "tomorrow", "明天会"))
    )
    where = f" in {place}" if place else ""
    return _Sentence(
        [("It", ()), (f" {verb}", (3,)), (f" {weather}{where}", ()), (f" {when}.", ())],
        _free(f"{place_zh}{when_zh}", "很", f"{weather_zh}。"),
    )


def _ability(rng: random.Random) -> _Sentence:
    who, who_zh, person, _ = rng.choice(_SUBJECTS)
    doing, doing_zh = rng.choice(_ABILITIES)
    kind = rng.choice(("can", "cannot", "ask" if who != "I" else "can", "want", "want not"))
    if kind == "ask":
        return _Sentence(
            _free("Can", f" {who}", f" {doing}?"), _free(who_zh, "会", doing_zh, "吗？")
        )
    do = "does" if person == "3" else "do"
    verb, verb_zh = {
        "can": ("can", "会"),
        "cannot": ("cannot", "不会"),
        "want": (f"{_verb('want', person)} to", "想"),
        "want not": (f"{do} not want to", "不想"),
    }[kind]
    ways = (f"{_capital(who)} can't {doing}.",) if kind == "cannot" else ()
    return _Sentence(_subject_verb(who, verb, doing), _free(who_zh, verb_zh, f"{doing_zh}。"), ways)


_GRAMMAR: tuple[Callable[[random.Random], _Sentence], ...] = (
    _doing, _doing, _activity, _liking, _counted, _counted, _cups, _place, _going, _going, _this, _quality,
    _quality, _weather, _ability,
)  # fmt: skip


def _text(pieces: Pieces) -> str:
    return "".join(text for text, _ in pieces)


def _typed(rng: random.Random, text: str) -> str:
    """The sentence as people type it: in small letters, without its stop."""
    if rng.random() < 0.35 and not text.startswith("I "):
        text = text[0].lower() + text[1:]
    if rng.random() < 0.1:
        text = text.lower()
    if rng.random() < 0.35:
        text = text.rstrip(".?。？")
    return text


def draw(rng: random.Random) -> Sample:
    fixed = rng.random() < 0.12
    if fixed:
        english, chinese = rng.choice(_PHRASES)
        sentence = _Sentence(_free(english), _free(chinese))
    else:
        sentence = rng.choice(_GRAMMAR)(rng)
    to_chinese = rng.random() < 0.55
    form = rng.choice(_TO_CHINESE if to_chinese else _TO_ENGLISH)
    source = (
        rng.choice((_text(sentence.english), *sentence.ways))
        if to_chinese
        else _text(sentence.chinese)
    )
    typed = _typed(rng, source)
    # A question mark inside a question would end it too early.
    typed = typed.rstrip(".。") if form[-1] in "?？" or '"' in form else typed
    response, parts = assemble(sentence.chinese if to_chinese else sentence.english)
    key = _text(sentence.chinese)
    return Sample(
        family="translate",
        # A fixed phrase can't be composed from others: only its wordings are held out.
        key=f"{key}/{form}" if fixed else key,
        prompt=reword(rng, form).format(text=typed),
        response=response,
        parts=parts,
    )


def _plain(text: str) -> str:
    return text.strip().rstrip(".?!。？！").casefold()


def check(sample: Sample, text: str) -> bool:
    """Whether it is the translation, but for case and the mark at the end."""
    return _plain(text) == _plain(sample.response)


FAMILY = Family(name="translate", draw=draw, check=check)
