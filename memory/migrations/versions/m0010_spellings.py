"""Texts in the spelling that full text now compares: yo, sharp s, and the Arabic letters and marks people leave out."""

from alembic import op

revision = "0010"
down_revision = "0009"

_SPELLINGS = (
    *(("ё", "е"), ("Ё", "Е"), ("ß", "ss"), ("ẞ", "SS"), ("ى", "ي"), ("ة", "ه")),
    *((alef, "ا") for alef in "أإآٱ"),
    *((mark, "") for mark in ("ـ", "\u0670", *map(chr, range(0x064B, 0x0653)))),
)


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        body = "body"
        for old, new in _SPELLINGS:
            body = f"replace({body}, '{old}', '{new}')"
        touched = "".join(old for old, _ in _SPELLINGS)
        op.execute(f"UPDATE search_text SET body = {body} WHERE body GLOB '*[{touched}]*'")
