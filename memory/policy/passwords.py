"""Where a password, a passphrase or a PIN stands in a text: after a word for it, in the languages people use here.

"My password is swordfish" tells one, "my password is wrong" does not. Without a shape to go by, the words around
decide: a value holds a digit or a symbol, or it is the last word of its clause and no word that one says *about*
passwords, or it is a run of words none of which holds a sentence together.

Invariant: the spans found are in order and do not overlap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Span = tuple[int, int]

_WESTERN = (
    "pass ?words?|passwd|pass ?phrase|passcode|pwd|pw|pass|passwort|kennwort|mot de passe|mdp|contraseña|contrasena"
    "|senha|palavra-passe|wachtwoord|lösenord|adgangskode|passord|salasana|hasło|heslo|jelszó|parolă|parola|şifre"
    "|пароль|κωδικός|סיסמה|كلمة المرور|كلمة السر|पासवर्ड|mật khẩu|kata sandi"
)
_EASTERN = "パスワード|暗証番号|密码|密碼|口令|비밀번호|암호"
_LABEL = re.compile(rf"(?<!\w)(?:{_WESTERN})(?!\w)|{_EASTERN}", re.IGNORECASE)

_VERB = "(?:is|was|ist|lautet|est|es|è|é|är|er|on|jest|je|is:|είναι|היא|هي|है|là|adalah)"
_SIGN = "(?::|：|=|->|→)"
# Between the word and its value: what it is for ("... for the router is ..."), and a sign or a verb.
_FOR = (
    "(?:for|to|of|on|at|in|from|i|you|we|für|zum|zur|vom|von|beim|pour|de|du|des|para|del|do|da|per|di|voor|van|till"
    "|til|для|от|к)"
)
_ABOUT = rf"(?:[ ]?\([^()\n]{{1,30}}\)|[ ]{_FOR}(?:[ ](?!{_VERB}[ ])[\w'-]{{1,20}}){{1,4}}?)?"
_LINK = re.compile(
    rf"""["'`*]{{0,2}}(?:
      (?P<sign>{_ABOUT}\s{{0,3}}{_SIGN}[*]{{0,2}}\s{{0,3}})
    | (?P<verb>{_ABOUT}(?:\s{{1,3}}{_VERB}|['’]s):?\s{{1,3}})
    | (?P<particle>\s?(?:は|是|为|為|는|은)[、:：]?\s?)
    | (?P<space>[ ])
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_QUOTED = re.compile(
    r'"([^"\n]{1,100})"|`([^`\n]{1,100})`|[“„«]([^“”„«»\n]{1,100})[”“»]|「([^」\n]{1,100})」'
    r"|'([^'\n]{1,100})'(?!\w)"
)
_TOKEN = re.compile(r"\S{1,200}")
_ASCII = re.compile(r"[!-~]{4,200}")
_WORDS_TO_THE_END = re.compile(r"[^\W\d_]{2,}(?:[ -][^\W\d_]{2,}){3,11}(?=[ ]?(?:[.!]?$|[.!]?\n))")
_CLAUSE_END = re.compile(r"\s*(?:[.,;!?)\]}。、]|$|\n|(?:and|und|et|y|e|og|och|en)\b)", re.IGNORECASE)
_TRAILING = ".,;:!?)]}\"'`”“»"

_OWN = "(?:the|my|our|a|mein|unser|das|mon|le|mi|la|il|minha)"
_BEFORE = re.compile(
    rf"""(?<!\S)["'`]?(?P<value>(?=\S*\d)(?=\S*[^\W\d])\S{{5,100}}?)["'`]?
    [ ](?:{_VERB}|as|als|comme|como)[ ](?:{_OWN}[ ])?(?:\w{{1,20}}[ ]){{0,2}}?(?:{_WESTERN})(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)
_PIN = re.compile(
    r"""(?<!\w)(?:pin(?:[ -]?(?:code|number|nummer))?|cv[vc]2?|(?:security|code)[ ](?:code|pin)
    |ssn|social[ ]security(?:[ ]number)?)(?:[ ][^\W\d]{1,15}){0,4}?
    (?:\s{0,2}[:=\#]|['’]s|[ ](?:is|ist|est|es|è|é):?|(?=[ ]\d{3}(?:\d|-\d\d-\d{4})?(?!\w)))
    \s{0,2}(?P<value>\d{3}-\d\d-\d{4}|\d{3,8})(?![\w-])""",
    re.IGNORECASE | re.VERBOSE,
)

_SAID_ABOUT_PASSWORDS = """
    accepted active again also always asked back bad been being better broken case changed clear common compromised
    correct course different done easy empty encrypted enough exactly exposed expired expiring false field fine
    forgotten garbage good gone great hard hashed here hidden incorrect insecure invalid just kept known leaked locked
    long lost made managed manager mandatory maybe missing mine needed never none null okay optional outdated policy
    private probably protected public rather really reliable required reset right rotated safe same saved secret
    secure sensitive sent short shown similar simple something somewhere still stored string strong supposed sure
    temporary terrible true typed uncrackable under unique unknown unsafe unset updated used useless valid very
    visible weak working worthless written wrong
    abgelaufen bekannt falsch geheim gespeichert gleich immer kurz lang leer leider richtig schlecht schwach sehr
    sicher stark ungültig unsicher vergessen verloren wieder
    bonne correcte expiré faible fausse faux fort incorrecte invalide mauvais oublié perdu sécurisé toujours trop
    très buena caducada corta débil fuerte incorrecta incorrecto inválida larga mala nueva olvidada perdida segura
    siempre debole dimenticata errata forte lunga molto nuova perduta sbagliata scaduta sempre sicura troppo curta
    errada esquecida expirada fraca muito nova
    fout kwijt onjuist ongeldig sterk verkeerd verlopen vergeten zwak felaktigt glömt svagt
    błędne nieprawidłowe słabe zapomniane неверный неправильный забыт слабый сложный yanlış zayıf
"""
_GLUE = """
    a about all am an and any are at because but by can could did do does for from had has have he her his how i if
    in is it its like may me might must my myself need new no not now of off old on one only or our out please set
    she should so such than that the their them then there they this to too up us was we were what when where which
    who why will with would you your
    aber auch auf das dein der die ein eine ich im ist mein mit neu nicht noch nur weg zu
    ce dans des du elle est il je la le les mais mon ne pas plus que sa son sur un une votre
    con del el ella en era eres es esta este los más mi muy no para pero por se ser su tan una y
    che della di gli ho lo mia mio non ma per sono del da e em foi minha não os para por seu uma
    een het heb ik maar mijn niet van voor att det en för inte jag min som och
    в и и из на не он она с это я jest na nie się to w z
"""
_SAID_ABOUT = frozenset(f"{_SAID_ABOUT_PASSWORDS} {_GLUE}".split())
_HOLDS_SENTENCES_TOGETHER = frozenset(_GLUE.split())
_SYMBOLS = frozenset("!@#$%^&*+=_?~|\\<>")
_PLACEHOLDER = re.compile(
    r"[*•.x_-]+|<[^>]*>?|\$\{?\w+\}?|\{\{?.*|%\w+%|\[.*|.*\(.*|(?:os|process|self|env|config)\.\w.*", re.I
)


def password_spans(text: str) -> Iterator[Span]:
    """Where passwords, passphrases, PINs and the like stand, as positions of their first and last + 1 character."""
    end = 0
    for span in sorted((*_after_labels(text), *_named_before(text), *_pins(text))):
        if span[0] >= end:
            yield span
            end = span[1]


def _named_before(text: str) -> Iterator[Span]:
    for found in _BEFORE.finditer(text):
        yield found.span("value")


def _pins(text: str) -> Iterator[Span]:
    for found in _PIN.finditer(text):
        yield found.span("value")


def _after_labels(text: str) -> Iterator[Span]:
    for label in _LABEL.finditer(text):
        link = _LINK.match(text, label.end())
        if link is not None and (span := _value(text, link)) is not None:
            yield span


def _value(text: str, link: re.Match[str]) -> Span | None:
    start = link.end()
    if link["particle"]:
        ascii_run = _ASCII.match(text, start)
        return ascii_run.span() if ascii_run else None
    if (quoted := _QUOTED.match(text, start)) and not link["space"]:
        return quoted.span(quoted.lastindex or 0)
    token = _TOKEN.match(text, start)
    if token is None:
        return None
    if not link["space"] and (phrase := _phrase(text, start)):
        return phrase
    value = token[0].rstrip(_TRAILING)
    end = start + len(value)
    likely = _is_bare_password(value, text, end) if link["space"] else _is_password(value, text, end)
    return (start, start + len(token[0].rstrip(".,;:)]}\"'`”“»"))) if likely else None


def _phrase(text: str, start: int) -> Span | None:
    found = _WORDS_TO_THE_END.match(text, start)
    if found is None or not _HOLDS_SENTENCES_TOGETHER.isdisjoint(re.split("[ -]", found[0].lower())):
        return None
    return found.span()


def _is_password(value: str, text: str, end: int) -> bool:
    if len(value) < 4 or value.lower() in _SAID_ABOUT or _PLACEHOLDER.fullmatch(value):
        return False
    if any(character.isdigit() or character in _SYMBOLS for character in value):
        return True
    mixed_case = value[1:] != value[1:].lower() and value != value.upper()
    return mixed_case or _CLAUSE_END.match(text, end) is not None


def _is_bare_password(value: str, text: str, end: int) -> bool:
    letters_and_digits = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return len(value) >= 6 and letters_and_digits and text[end:].strip(_TRAILING + " ")[:1] in ("", "\n")
