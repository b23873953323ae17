"""The page about the method: what the paper claims, what this project measured, and where the two differ.

Its sentences are in ``about.en.md`` and ``about.zh.md``, the measured figures in ``assets/measured.json``. What
is added there appears on the page, and the sentences can name it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import gradio as gr

from .i18n import Texts

NAME = "about"
MEASURED = Path(__file__).resolve().parent.parent / "assets" / "measured.json"
LANGUAGES = ("en", "zh")
# Wide tables scroll in a box of their own.
_CSS = """<style>
#about { max-width: 880px; width: 100%; margin: 0 auto; }
#about h2 { margin-top: 24px; }
#about table { display: block; width: fit-content; max-width: 100%; overflow-x: auto; padding: 0; border: 0; }
#about :is(th, td) { padding: 4px 10px; border-color: var(--border-color-primary); overflow-wrap: normal; }
#about :is(th, td, th *, td *) { word-break: normal; }
#about td { font-variant-numeric: tabular-nums; }
#about code { overflow-wrap: anywhere; white-space: pre-wrap; }
#about td code { white-space: nowrap; }
#about sub { font-size: 12px; vertical-align: baseline; line-height: 1.5; color: var(--block-info-text-color); }
@media (max-width: 640px) {
  .main.fillable { padding: 8px 0 !important; }
  #about :is(th, td) { padding: 3px 7px; font-size: 13px; line-height: 1.35; }
}
</style>"""


def read_measured() -> dict[str, Any]:
    """The measured figures, every number with the digits that the file gives it."""
    return json.loads(MEASURED.read_text(encoding="utf-8"), parse_float=Decimal)


def _figures(measured: dict[str, Any]) -> dict[str, Any]:
    """The figures by name: ``facts[ID]`` and ``TABLE[FIRST CELL OF A ROW][COLUMN]``, of rows that begin alike
    those of the first."""
    figures: dict[str, Any] = {"facts": {fact["id"]: fact["value"] for fact in measured["facts"]}}
    for table in measured["tables"]:
        rows = reversed(table["rows"])
        figures[table["id"]] = {
            row[0]: dict(zip(table["columns"], row, strict=True)) for row in rows
        }
    return figures


def _source(entry: dict[str, Any], chinese: bool) -> str:
    """Date, weights, page and command of a figure, in small letters."""
    parts = [entry["date"], f"`{entry['source']}`"]
    if entry["weights"]:
        parts.insert(1, f"{'权重' if chinese else 'weights'} `{entry['weights']}`")
    comma, colon = ("，", "：") if chinese else (", ", ": ")
    return f"<sub>{comma.join(parts)}{colon}`{entry['command']}`</sub>"


def table_text(table: dict[str, Any], words: dict[str, str] | None = None) -> str:
    """A measured table as Markdown, its words as ``words`` translates them."""

    def line(cells: Iterable[Any]) -> str:
        return f"| {' | '.join((words or {}).get(str(cell), str(cell)) for cell in cells)} |"

    columns = table["columns"]
    return "\n".join([line(columns), line(["---"] * len(columns)), *map(line, table["rows"])])


def _sections(measured: dict[str, Any], lang: str) -> Iterator[str]:
    """Every table of the page with its heading, what it tells and where it comes from; then the facts."""
    chinese = lang == "zh"
    for table in measured["tables"]:
        if "title" not in table:  # for the docs alone
            continue
        yield f"### {table['title'][lang]}"
        yield table["about"][lang]
        yield table_text(table, measured["chinese"] if chinese else None)
        yield _source(table, chinese)
    yield "### 单项数据" if chinese else "### Single figures"
    for fact in measured["facts"]:
        colon = "：" if chinese else ": "
        yield f"{fact['what'][lang]}{colon}**{fact['value']}**  \n{_source(fact, chinese)}"


def _text(measured: dict[str, Any], lang: str) -> str:
    """The page in one language, as Markdown."""
    template = Path(__file__).with_name(f"about.{lang}.md").read_text(encoding="utf-8")
    sections = "\n\n".join(_sections(measured, lang))
    return template.format(measured=sections, **_figures(measured))


def _texts() -> Texts:
    measured = read_measured()
    english, chinese = (_text(measured, lang) for lang in LANGUAGES)
    return {"about": (english, chinese)}


TEXTS = _texts()


def build(t: Callable[[str], Any], model: Any) -> None:
    """Fill the page."""
    gr.HTML(_CSS)
    gr.Markdown(t("about"), elem_id="about")
