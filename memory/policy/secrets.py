"""What nobody wants to be remembered: keys, tokens, passwords and card numbers, found by their shape.

Used once, where a message enters, so that a secret reaches no table, index, prompt, summary or log.

Invariant: ``redact`` is idempotent, and text without a secret comes back as it is. Where a shape is shared with
ordinary text (ids, hashes, phone numbers), a checksum, a label or the company of a digit must speak for a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from memory.policy.passwords import password_spans

REMOVED = "[secret removed]"

_END = r"(?![A-Za-z0-9])"
_START = r"(?<![A-Za-z0-9])"

# Keys that say by their beginning what they are. Sources: the services' own documentation of their formats.
_TOKENS = (
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",  # AWS key id
    r"gh[opsru]_[A-Za-z0-9]{30,255}",
    r"github_pat_\w{22,255}",
    r"glpat-[\w-]{20,}",
    r"xox[a-z](?:\.xox[a-z])?-[\w-]{8,}",  # Slack
    r"xapp-[\w-]{8,}",
    r"sk-ant-[\w-]{8,}",
    r"sk-(?=[\w-]{0,200}\d)(?:proj-|svcacct-|or-v1-)?[\w-]{20,}",  # OpenAI and those who write keys like it
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{12,}",  # Stripe
    r"whsec_[A-Za-z0-9+/=]{20,}",
    r"AIza[\w-]{35}",  # Google
    r"ya29\.[\w-]{20,}",
    r"GOCSPX-[\w-]{20,}",
    r"hf_[A-Za-z0-9]{30,}",
    r"gsk_[A-Za-z0-9]{40,}",
    r"xai-[A-Za-z0-9]{40,}",
    r"npm_[A-Za-z0-9]{36}",
    r"pypi-[\w-]{50,}",
    r"SG\.[\w-]{16,32}\.[\w-]{32,64}",  # SendGrid
    r"SK[0-9a-f]{32}",  # Twilio
    r"do[opr]_v1_[a-f0-9]{64}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{58}",
    r"[MNO][A-Za-z\d][\w-]{21,28}\.[\w-]{6,7}\.[\w-]{27,}",  # Discord bot
    r"\d{8,10}:AA[\w-]{33}",  # Telegram bot
    r"eyJ[\w-]{8,1000}\.[\w-]{8,}(?:\.[\w-]*){1,3}",  # JSON web token
)
_TOKEN = re.compile(f"{_START}(?:{'|'.join(_TOKENS)})")
_AWS_KEY_ID = re.compile(_START + _TOKENS[0] + _END)
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")

_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?P<kind>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----.*?(?:-----END (?P=kind)-----|\Z)", re.DOTALL
)
_WEBHOOK = re.compile(
    r"(https://(?:hooks\.slack\.com/(?:services|workflows)/|(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d+/))[\w/-]{8,}"
)
_URL_PASSWORD = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,100}:)[^\s/@]{1,200}(?=@)", re.IGNORECASE)
_BEARER = re.compile(r"(\b(?:bearer|basic)\s+)(?=[\w.~+/=-]{0,200}\d)[\w.~+/=-]{16,}", re.IGNORECASE)

_KEY_LABEL = r"""(?:api|secret|access|private|signing|encryption|license|auth|bearer|refresh|session|client|bot|app)
    [ _-]?(?:access[ _-]?)?(?:key|token|secret)|token|secret"""
_LABELLED_KEY = re.compile(
    rf"""((?<![A-Za-z])(?:{_KEY_LABEL})["'`]?\s{{0,3}}(?::|=>?|\bis\b|\bist\b|\best\b|\bes\b)\s{{0,3}}["'`]?)
    (?=[A-Za-z0-9_+/.~-]{{0,200}}\d)[A-Za-z0-9_+/.~-]{{12,}}=*""",
    re.IGNORECASE | re.VERBOSE,
)


# Groups of four as they stand on the card, or no groups. Of long plain digits only the lengths that cards have, and
# not inside a word, a link or a longer number: ids of messages and orders look alike.
_CARD = re.compile(
    r"""(?=\d)(?<![\w+/#=.,-])(?<!<[@\#]|[@#][!&])(?:
      \d{4}(?P<gap>[ \u00a0\u2009\u202f.-])\d{4}(?P=gap)\d{4}(?P=gap)\d{4}(?:(?P=gap)\d{3})?
    | 3[47]\d\d(?P<amex>[ \u00a0\u2009\u202f.-])\d{6}(?P=amex)\d{5}
    | 3[068]\d\d(?P<diners>[ \u00a0\u2009\u202f.-])\d{6}(?P=diners)\d{4}
    | \d{16} | 3[47]\d{13} | 3[068]\d{12}
    )(?![\w/]|[.,-]\d)""",
    re.VERBOSE,
)
_ISSUED = re.compile(r"4|5[0-8]|2[2-7]|3[04-9]|6[0-9]")
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d\d(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?(?!\w)")


def redact(text: str) -> str:
    """The text with every secret replaced by ``[secret removed]``; what stands around it stays.

    Found are private key blocks, keys and tokens of well-known services, bearer tokens, passwords in links, webhook
    addresses, values that a label calls a key, a token, a password or a PIN, card numbers (Luhn, ISO/IEC 7812-1) and
    account numbers (IBAN, ISO 13616).
    """
    with_aws_key = _AWS_KEY_ID.search(text) is not None
    text = _PRIVATE_KEY.sub(REMOVED, text)
    text = _WEBHOOK.sub(rf"\g<1>{REMOVED}", text)
    text = _TOKEN.sub(REMOVED, text)
    if with_aws_key:  # alone, it could be any hash
        text = _AWS_SECRET.sub(REMOVED, text)
    for labelled in (_URL_PASSWORD, _BEARER, _LABELLED_KEY):
        text = labelled.sub(rf"\g<1>{REMOVED}", text)
    text = _CARD.sub(_if(_is_card), text)
    text = _IBAN.sub(_if(_is_iban), text)
    return _without_passwords(text)


def _without_passwords(text: str) -> str:
    pieces, end = [], 0
    for start, stop in password_spans(text):
        if not text.startswith(REMOVED, start):
            pieces += [text[end:start], REMOVED]
            end = stop
    return "".join((*pieces, text[end:]))


def _if(is_secret: Callable[[str], bool]) -> Callable[[re.Match[str]], str]:
    return lambda found: REMOVED if is_secret(found[0]) else found[0]


def _is_card(number: str) -> bool:
    digits = [int(character) for character in number if character.isdecimal()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    issued = _ISSUED.match("".join(map(str, digits[:2]))) is not None
    return issued and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_iban(number: str) -> bool:
    compact = number.replace(" ", "")
    rearranged = compact[4:] + compact[:4]
    return 15 <= len(compact) <= 34 and int("".join(str(int(character, 36)) for character in rearranged)) % 97 == 1
