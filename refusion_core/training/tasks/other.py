"""Everything that is none of the other tasks: greetings get a greeting, the rest an honest short answer.

The answers are few and fixed; what has to be learned is what the model can't do, from many kinds of prompts
with made-up words in them.
"""

from __future__ import annotations

import random
import re

from .base import Family, Sample, assemble, reword
from .words import CITIES, FIRST_NAMES, ITEMS, JOBS, WORDS, made_up

_ABLE = (
    "I can write Python functions, add and subtract, translate simple English and Chinese, summarise, "
    "extract JSON, make tables, work on lists and tell short stories."
)
_ABLE_ZH = "我会写 Python 函数、做加减法、翻译简单的中英文、写摘要、提取 JSON、做表格、整理列表和讲小故事。"
ANSWERS = {
    "greeting": f"Hello! I am a small ReFusion model. {_ABLE}",
    "identity": f"I am a small ReFusion model. {_ABLE}",
    "thanks": "You are welcome.",
    "bye": "Goodbye.",
    "unable": f"Sorry, that is more than I can do. {_ABLE}",
    "greeting_zh": f"你好！我是一个小型 ReFusion 模型。{_ABLE_ZH}",
    "identity_zh": f"我是一个小型 ReFusion 模型。{_ABLE_ZH}",
    "thanks_zh": "不客气。",
    "bye_zh": "再见。",
    "unable_zh": f"抱歉，这个我做不到。{_ABLE_ZH}",
}


def _forms(text: str) -> tuple[str, ...]:
    """A table of forms, parted by bars and line ends."""
    return tuple(form for line in text.split("\n") for form in line.split("|") if form)


_GREETINGS = _forms("""
hello|hi|hey|hi there|hello there|hey there|good morning|good evening|good afternoon|howdy|greetings|yo
hello!|hi!|hey you|hello model|hi bot|morning|hello, how are you?|hi, how are you doing?|how are you?
how's it going?|what's up?|sup|nice to meet you|hello {name}|hi {name}|hello, i am {name}
hi, my name is {name}
""")
_IDENTITIES = _forms("""
who are you?|what are you?|what is your name?|hello, who are you?|hey, who are you?|hi, what can you do?
what can you do?|what can i ask you?|help|help me|how do you work?|are you a robot?|are you human?
who made you?|what is this?|what is ReFusion?|tell me about yourself|introduce yourself
what are you good at?|are you chatgpt?|can you help me?|which tasks can you do?|what do you know?
how can you help me?|hello, what is this?|are you an ai?|what model are you?|what languages do you speak?
what should i type?|give me an example of what you can do
""")
_THANKS = _forms("""
thanks|thank you|thank you very much|thanks a lot|thx|ty|great, thanks|ok thanks|thanks {name}|cheers mate
""")
_BYES = _forms("""
bye|goodbye|bye bye|see you|see you later|good night|cya|bye {name}|i have to go
""")
_BEYOND = _forms("""
What is the capital of {place}?|Who wrote {thing}?|When was {person} born?|Who is {person}?
Where is {place}?|Why is the {noun} blue?|What is the meaning of life?|What is the weather in {place}?
Will it rain in {place} tomorrow?|What happened in {place} yesterday?|How do I cook {noun}?
Give me a recipe for {noun} soup.|Write a poem about {noun}.|Write a poem about {person}.
Write a song about {noun} and {noun2}.|Tell me a joke.|Tell me a joke about {noun}.
What do you think about {noun}?|Do you like {noun}?|Is {noun} better than {noun2}?|How old is {person}?
What is {a} * {b}?|What is {a} times {b}?|{a} x {b}|Multiply {a} by {b}.|What is {a} / {b}?
Divide {a} by {b}.|What is the square root of {a}?|What is {a} percent of {b}?|Integrate x^{a}.
Solve x^2 + {a}x = {b}.|{a} ^ {b}|Solve this equation: {a}x + {b} = 0|Prove that {a} is prime.
Write an essay about {noun}.|Write a letter to {person}.|Write an email to my {job}.
Write a Java class for a {noun}.|Write a C program about {noun}.|Write SQL for {noun}.
Write JavaScript that shows a {noun}.|Write HTML for my {noun} shop.|Draw a {noun}.
Make a picture of a {noun}.|Show me a photo of {place}.|Play some music.|Open the {noun}.
Book a flight to {place}.|Plan a trip to {place}.|Find a hotel in {place}.
How far is it from {place} to {place2}?|What is the news?|Who won the {noun} game?
Which {noun} should I buy?|How much does a {noun} cost?|What is the best {noun} in {place}?|Explain {noun}.
Explain how a {noun} works.|What is a {noun}?|What does a {job} do?|Define {noun}.|How do I become a {job}?
Translate to French: the {noun}|Translate to German: my {noun} is here|Say {noun} in Spanish.
How tall is {person}?|I feel sad.|I am bored.|I love you.|I lost my {noun}.|My {noun} is broken.
Am I right about {noun}?|{noun}|{noun} {noun2}|the {noun}|{place}|{person}|asdf {made}|{made}|{made} {made2}
{made} {made2} {noun}|lorem ipsum {made}|Is {person} a {job}?|What is the population of {place}?
Who is the president of {place}?|Remind me to buy {noun}.|What day is it?|What time is it in {place}?
Set an alarm.|Call {person}.|Send a message to {person}.|Correct this sentence: me have {noun}.
Rewrite this in a polite way: give me {noun}.|Is this true: {noun} is alive?|What rhymes with {noun}?
Spell {noun}.|Name five kinds of {noun}.|Give me ideas for a {noun} party.|why?|ok|yes|no
How do I fix my {noun}?|How do you make {noun}?|Can {noun} fly?|Can you see me?|Do you dream?
Do you have feelings?|What should I eat today?|Which film should I watch?|Recommend a book about {noun}.
What is love?|Are you {person}?
""")
_GREETINGS_ZH = (
    "你好|您好|嗨|早上好|晚上好|下午好|大家好|你好吗？|你好，我是{name}|哈喽|早|最近怎么样？".split(
        "|"
    )
)
_IDENTITIES_ZH = _forms("""
你是谁？|你是谁|你叫什么名字？|你会什么？|你能做什么？|你好，你是谁？|帮助|这是什么？|你是机器人吗？
谁做了你？|介绍一下你自己|你可以帮我吗？|你能帮我什么？|什么是 ReFusion？|你是人吗？|我可以问你什么？
""")
_THANKS_ZH = _forms("""
谢谢|谢谢你|多谢|非常感谢|好的，谢谢|谢了
""")
_BYES_ZH = _forms("""
再见|拜拜|晚安|明天见|回头见
""")
_BEYOND_ZH = _forms("""
今天天气怎么样？|{place}在哪里？|{place}的天气怎么样？|写一首诗|写一首关于{zh}的诗|讲个笑话|{zh}是什么？
什么是{zh}？|为什么天是蓝的？|{a} 乘以 {b} 等于多少？|{a} × {b} 是多少？|现在几点了？|推荐一部电影|怎么做{zh}？
给我一个{zh}的食谱|我很无聊|我爱你|{zh}多少钱？|帮我订一张去{place}的机票|今天有什么新闻？
写一篇关于{zh}的文章|你喜欢{zh}吗？|{name}是谁？|画一只{zh}|{zh}|人生的意义是什么？|我该吃什么？|播放音乐
{zh}和{zh2}哪个好？|解释一下{zh}|给{name}写一封信|去{place}怎么走？
""")
_NOUNS_ZH = """
音乐 电影 苹果 汽车 猫 狗 火车 月亮 太阳 面条 茶 咖啡 足球 电脑 手机 花 山 海 书 学校 朋友 爱情 历史 数学
经济
""".split()
_COUNTRIES = """
France Japan China India Brazil Peru Kenya Egypt Spain Italy Norway Chile Canada Mexico Ghana Turkey Poland
Greece
""".split()

# Kind of prompt, its forms and how often it is drawn.
_KINDS = {
    "greeting": (_GREETINGS, 12),
    "identity": (_IDENTITIES, 14),
    "thanks": (_THANKS, 4),
    "bye": (_BYES, 4),
    "unable": (_BEYOND, 46),
    "greeting_zh": (_GREETINGS_ZH, 4),
    "identity_zh": (_IDENTITIES_ZH, 5),
    "thanks_zh": (_THANKS_ZH, 2),
    "bye_zh": (_BYES_ZH, 2),
    "unable_zh": (_BEYOND_ZH, 12),
}


_SENTENCE = re.compile(r"[^.!。！]+[.!。！] ?")


def _fillings(rng: random.Random) -> dict[str, str | int]:
    def noun() -> str:
        return made_up(rng).lower() if rng.random() < 0.25 else rng.choice((*WORDS, *ITEMS))

    def place() -> str:
        return made_up(rng) if rng.random() < 0.2 else rng.choice((*CITIES, *_COUNTRIES))

    return {
        "noun": noun(),
        "noun2": noun(),
        "thing": f"the book about the {noun()}",
        "place": place(),
        "place2": place(),
        "name": rng.choice((*FIRST_NAMES, made_up(rng))),
        "person": rng.choice((f"{made_up(rng)} {made_up(rng)}", rng.choice(FIRST_NAMES))),
        "job": rng.choice(JOBS),
        "made": made_up(rng).lower(),
        "made2": made_up(rng).lower(),
        "a": rng.randint(2, 99),
        "b": rng.randint(2, 999),
        "zh": rng.choice(_NOUNS_ZH),
        "zh2": rng.choice(_NOUNS_ZH),
    }


def draw(rng: random.Random) -> Sample:
    kind = rng.choices(tuple(_KINDS), [weight for _, weight in _KINDS.values()])[0]
    form = rng.choice(_KINDS[kind][0])
    prompt = reword(rng, form).format(**_fillings(rng))
    if rng.random() < 0.3:
        prompt = prompt[0].upper() + prompt[1:]
    response, parts = assemble((sentence, ()) for sentence in _SENTENCE.findall(ANSWERS[kind]))
    return Sample(
        family="other",
        # What can't be composed is learned as it is: only its ways of typing are held out.
        key=prompt.lower().rstrip(".?!。？！"),
        prompt=prompt,
        response=response,
        parts=parts,
        facts={"kind": kind},
    )


def check(sample: Sample, text: str) -> bool:
    """Whether it is the answer to this kind of prompt."""
    return text.strip() == sample.response


FAMILY = Family(name="other", draw=draw, check=check)
