"""Text on its way to and from Slack: Markdown to mrkdwn, and what Slack sends to plain words.

Invariant: nothing that ``to_mrkdwn`` returns can ping anybody. Every ``<`` of the source is escaped, and the
angle brackets written here hold only http, https and mailto addresses. Everything here is pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from adapters.text import split

TEXT_LIMIT = 3_900
"""Characters of one message. Slack advises at most 4,000 and truncates far longer ones."""

_INVISIBLE = "\u200b"
"""Slack formats a span only where it stands apart from letters; this parts it without showing."""

_FENCE = re.compile(r"\s{0,3}(?P<marks>`{3,}|~{3,})")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(?P<title>.*?)\s*#*\s*\Z")
_RULE = re.compile(r"\s{0,3}([-*_])\s*(\1\s*){2,}\Z")
_QUOTE = re.compile(r"\s{0,3}(>\s?)+(?P<rest>.*)")
_BULLET = re.compile(r"(?P<indent>\s*)[-*+]\s+(\[(?P<done>[ xX])\]\s+)?(?P<rest>.*)")
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*\Z")

_INLINE = re.compile(
    r"""
    \\(?P<escaped>[\\`*_{}\[\]()<>\#+\-.!~|])
    |(?P<ticks>`+)(?P<code>[^`]|[^`].*?[^`])(?P=ticks)(?!`)
    |<(?P<bracketed>(?:https?://|mailto:)[^\s<>|]+)>
    |!?\[(?P<label>[^\[\]\n]+)\]\((?P<target>(?:https?://|mailto:)(?:[^\s()<>]|\([^\s()<>]*\))+)(?:\s+"[^"\n]*")?\)
    |(?P<url>https?://[^\s<>]+)
    |\*\*\*(?=[^\s*])(?P<strong_emphasis>.+?)(?<=[^\s*])\*\*\*
    |\*\*(?=[^\s*])(?P<strong>.+?)(?<=\S)\*\*(?!\*)
    |(?<!\w)__(?=[^\s_])(?P<strong_low>.+?)(?<=\S)__(?!\w)
    |\*(?=[^\s*])(?P<emphasis>[^*\n]*[^\s*])\*
    |(?<!\w)_(?=[^\s_])(?P<emphasis_low>[^\n]*?[^\s_])_(?!\w)
    |~~(?=\S)(?P<struck>.+?)(?<=\S)~~
    """,
    re.VERBOSE,
)
_MARKS = {
    "strong_emphasis": "*_",
    "strong": "*",
    "strong_low": "*",
    "emphasis": "_",
    "emphasis_low": "_",
    "struck": "~",
}


def parts_for_slack(markdown: str, limit: int = TEXT_LIMIT) -> list[str]:
    """The text as mrkdwn parts of at most ``limit`` characters each, in order, none of them blank.

    The Markdown is cut first and translated after, so that no link and no escape is ever cut in two; where
    the translation grows past the limit, that piece is cut smaller.
    """
    return list(_parts(markdown, limit, cut_at=limit))


def _parts(markdown: str, limit: int, *, cut_at: int) -> Iterator[str]:
    for piece in split(markdown, cut_at):
        translated = to_mrkdwn(piece)
        if len(translated) > limit:
            yield from _parts(piece, limit, cut_at=len(piece) // 2)
        elif translated.strip():
            yield translated


def to_mrkdwn(markdown: str) -> str:
    """Markdown as Slack's mrkdwn shows it: tables become aligned code, headings bold lines."""
    return "\n".join(_blocks(markdown.split("\n")))


def _blocks(lines: list[str]) -> Iterator[str]:
    position = 0
    while position < len(lines):
        line = lines[position]
        if fence := _FENCE.match(line):
            end = _end_of_fence(lines, position, fence["marks"])
            yield from _code_block(lines[position + 1 : end])
            position = end + 1
        elif _starts_table(lines, position):
            end = _end_of_table(lines, position)
            yield from _table(lines[position], lines[position + 2 : end])
            position = end
        else:
            yield _line(line)
            position += 1


def _end_of_fence(lines: list[str], start: int, marks: str) -> int:
    for position in range(start + 1, len(lines)):
        closing = lines[position].strip()
        if len(closing) >= len(marks) and not closing.strip(marks[0]):
            return position
    return len(lines)


def _code_block(lines: list[str]) -> Iterator[str]:
    yield "```"
    for line in lines:
        yield escape(line).replace("```", f"``{_INVISIBLE}`")
    yield "```"


def _starts_table(lines: list[str], position: int) -> bool:
    following = lines[position + 1] if position + 1 < len(lines) else ""
    return "|" in lines[position] and "|" in following and _TABLE_RULE.match(following) is not None


def _end_of_table(lines: list[str], start: int) -> int:
    end = start + 2
    while end < len(lines) and "|" in lines[end]:
        end += 1
    return end


def _table(header: str, body: list[str]) -> Iterator[str]:
    rows = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in (header, *body)]
    widths = [max(len(row[column]) if column < len(row) else 0 for row in rows) for column in range(len(rows[0]))]
    shown = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows]
    shown.insert(1, "  ".join("-" * width for width in widths))
    yield from _code_block(shown)


def _line(line: str) -> str:
    if heading := _HEADING.match(line):
        return f"*{_inline(heading['title'], active='*')}*" if heading["title"] else ""
    if _RULE.match(line):
        return "———"
    if quote := _QUOTE.match(line):
        return f"> {_inline(quote['rest'])}"
    if bullet := _BULLET.match(line):
        mark = {None: "•", " ": "☐"}.get(bullet["done"], "☑")
        return f"{bullet['indent']}{mark} {_inline(bullet['rest'])}"
    return _inline(line)


def _inline(text: str, active: str = "") -> str:
    """One line's spans. ``active`` holds the marks already open, which Slack cannot nest in themselves."""
    shown: list[str] = []
    position = 0
    for found in _INLINE.finditer(text):
        shown.append(escape(text[position : found.start()]))
        shown.append(_span(found, active))
        position = found.end()
    shown.append(escape(text[position:]))
    return "".join(shown)


def _span(found: re.Match[str], active: str) -> str:
    if found["escaped"]:
        return escape(found["escaped"])
    if found["code"]:
        return _apart(found, f"`{escape(found['code'].strip()).replace('`', 'ˋ')}`")
    if found["url"]:
        return escape(found["url"])
    if address := found["bracketed"] or found["target"]:
        return f"<{_address(address)}|{escape(found['label'])}>" if found["label"] else f"<{_address(address)}>"
    kind = next(name for name in _MARKS if found[name])
    marks = "".join(mark for mark in _MARKS[kind] if mark not in active)
    inner = _inline(found[kind], active + marks)
    return _apart(found, f"{marks}{inner}{marks[::-1]}") if marks else inner


def _apart(found: re.Match[str], span: str) -> str:
    before = found.string[found.start() - 1 : found.start()]
    after = found.string[found.end() : found.end() + 1]
    return f"{_INVISIBLE if before.isalnum() else ''}{span}{_INVISIBLE if after.isalnum() else ''}"


def _address(address: str) -> str:
    return escape(address.replace("|", "%7C"))


def escape(text: str) -> str:
    """The three characters that Slack reads as its own, as entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_MENTION = re.compile(r"<@(?P<user>[A-Z0-9]+)(\|[^<>]*)?>")
_ADDRESSEE = re.compile(r"\s*<(@[A-Z0-9]|!subteam\^)")
_REFERENCE = re.compile(r"<(?P<kind>[@#!]?)(?P<target>[^<>|]+)(\|(?P<label>[^<>]*))?>")
_ENTITY = re.compile(r"&(lt|gt|amp);")
_CHARACTERS = {"lt": "<", "gt": ">", "amp": "&"}


def mentioned_users(text: str) -> tuple[str, ...]:
    """The ids of the users a Slack text mentions, each once, in order."""
    return tuple(dict.fromkeys(found["user"] for found in _MENTION.finditer(text)))


def begins_with_mention(text: str) -> bool:
    """Whether a Slack text begins by naming a user or a group of users."""
    return _ADDRESSEE.match(text) is not None


def with_persons(text: str, *, bot_user: str, team: str) -> str:
    """A Slack text with mentioned people in our own form, ``slack:<team>:<user>``; the bot's mention stays."""

    def person(found: re.Match[str]) -> str:
        return found[0] if found["user"] == bot_user else f"slack:{team}:{found['user']}"

    return _MENTION.sub(person, text)


def from_slack(text: str, *, bot_user: str, names: Mapping[str, str]) -> str:
    """A Slack text in plain words: the bot's mention removed, other references readable, entities resolved.

    Args:
        text: as Slack sends it.
        bot_user: the bot's own user id.
        names: the names of other mentioned users, by id, as far as they are known.
    """
    words = re.sub(rf"[ \t]*<@{re.escape(bot_user)}(\|[^<>]*)?>[,:]?[ \t]*", " ", text)
    words = _REFERENCE.sub(lambda found: _reference(found, names), words)
    return _ENTITY.sub(lambda found: _CHARACTERS[found[1]], words).strip()


def _reference(found: re.Match[str], names: Mapping[str, str]) -> str:
    kind, target, label = found["kind"], found["target"], found["label"]
    if kind == "@":
        return f"@{names.get(target) or label or target}"
    if kind == "#":
        return f"#{label or target}"
    if kind == "!":
        return label or f"@{target.partition('^')[0]}"
    address = target.removeprefix("mailto:")
    return address if not label or label in address else f"{label} ({address})"
