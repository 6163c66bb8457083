"""Secrets leave a text where it enters; everything that merely looks like one stays."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policy.secrets import REMOVED, redact

# Put together here, so that no scanner takes the examples for real ones.
AWS_ID = "AKIA" + "IOSFODNN7EXAMPLE"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"
GITHUB = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
SLACK = "xoxb-" + "1234567890-0987654321-AbCdEfGhIjKlMnOp"
CLAUDE = "sk-ant-" + "api03-AbC123_def-456GhI789jkl"
OPENAI = "sk-" + "proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8"
GOOGLE = "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"
STRIPE = "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc"
DISCORD = "MTE5ODYyMjQ4MzQ3MTkyNTI0OA" + ".Cl2FMQ." + "ZnCjm1XVW7vRze4b7Cq4se7kKWs0x1y2z3"
JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PRIVATE_KEY = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA " + "PRIVATE KEY-----"
CARD = "4111 1111 1111 1111"

SECRETS = [
    (f"My key is {AWS_ID}", AWS_ID),
    (f"{AWS_ID}\n{AWS_SECRET}", AWS_SECRET),
    (f"aws_secret_access_key = {AWS_SECRET}", AWS_SECRET),
    (f"clone it with https://{GITHUB}@github.com/ann/notes", GITHUB),
    (f"bot token:{SLACK}, app xapp-" + "1-A02-33-abcdef", SLACK),
    (f"export ANTHROPIC_API_KEY={CLAUDE}", CLAUDE),
    (f"use `{OPENAI}` please", OPENAI),
    (f"{GOOGLE} is for maps", GOOGLE),
    (f"({STRIPE})", STRIPE),
    (f"DISCORD_TOKEN={DISCORD}", DISCORD),
    (f"curl -H 'Authorization: Bearer {JWT}'", JWT),
    ("Authorization: Bearer 7f3a9c-0b1d2e-4f5a6b7c", "7f3a9c-0b1d2e-4f5a6b7c"),
    (f"here it is\n{PRIVATE_KEY}\nthanks", "MIIEow"),
    (PRIVATE_KEY[:50], "MIIEow"),
    ("postgres://ann:s3cr3t-pw@db.example.org:5432/notes", "s3cr3t-pw"),
    ("https://hooks.slack.com/services/" + "T000/B000/XXXXabcdXXXX", "XXXXabcdXXXX"),
    ("https://discord.com/api/webhooks/" + "123456789012345678/abcDEF_ghi-JKL", "abcDEF_ghi-JKL"),
    ("client_secret: 8f14e45fceea167a5a36dedd4bea2543", "8f14e45fceea167a5a36dedd4bea2543"),
    ("The API key is 9b74c9897bac770ffc029102a200c5de", "9b74c9897bac770ffc029102a200c5de"),
    (f"my card: {CARD}, expires 12/27", CARD),
    ("4111111111111111", "4111111111111111"),
    ("5555-5555-5555-4444", "5555-5555-5555-4444"),
    ("amex 3782 822463 10005", "3782 822463 10005"),
    ("Karte 4111\u00a01111\u00a01111\u00a01111", "1111"),
    ("IBAN DE89 3704 0044 0532 0130 00", "0532 0130"),
    ("GB82WEST12345698765432 is mine", "GB82WEST12345698765432"),
    ("the cvv is 123", "123"),
    ("My PIN is 4821.", "4821"),
    ("SSN: 078-05-1120", "078-05-1120"),
    ("My password is hunter2", "hunter2"),
    ("my password is swordfish.", "swordfish"),
    ("the wifi password is Sommer!Wiese, ok?", "Sommer!Wiese"),
    ("password for the router is admin123 I think", "admin123"),
    ('password = "correct horse"', "correct horse"),
    ("password (wifi): swordfish", "swordfish"),
    ("the password you need is Blau44wal", "Blau44wal"),
    ("passphrase: correct horse battery staple", "battery staple"),
    ("user: ann pw: tr0ub4dor&3", "tr0ub4dor&3"),
    ("my Netflix password's Qwerty77", "Qwerty77"),
    ("hunter2 is my password", "hunter2"),
    ("use Blau44wal as the password", "Blau44wal"),
    ("wifi password Blau44wal", "Blau44wal"),
    ("Mein Passwort ist Geheimnis42!", "Geheimnis42"),
    ("Das Kennwort lautet Apfelbaum", "Apfelbaum"),
    ("mon mot de passe est soleil2020", "soleil2020"),
    ("mdp : Chaton99", "Chaton99"),
    ("mi contraseña es Gato1234", "Gato1234"),
    ("a senha é flamengo10", "flamengo10"),
    ("la password è Vesuvio79", "Vesuvio79"),
    ("het wachtwoord is Fiets123", "Fiets123"),
    ("hasło: Zima2024", "Zima2024"),
    ("мой пароль: Zima2024", "Zima2024"),
    ("şifre: Kedi1234", "Kedi1234"),
    ("パスワードはneko1234です", "neko1234"),
    ("我的密码是mao12345。", "mao12345"),
    ("비밀번호는 goyangi77 입니다", "goyangi77"),
    ("كلمة المرور: qitta123", "qitta123"),
]

ORDINARY = [
    "My password is wrong.",
    "my password is wrong!",
    "I forgot my password",
    "Passwords are found in what is said, and the password screen of the app is blue.",
    "The password is too short, it must be 12 characters long",
    "my password is 8 characters long",
    "Password reset is on Monday 3 March 2026",
    "Is the password manager any good?",
    "password is the same as before",
    "Mein Passwort ist falsch",
    "mon mot de passe est incorrect, mauvais et trop court",
    "mi contraseña es muy larga",
    "パスワードを忘れました",
    "密码是错的",
    "пароль неверный",
    "`password = get_password()` fails, and `password: str` too",
    "password: ********",
    "set the password in ${DB_PASSWORD}",
    "I pass the ball",
    "passing 3 exams was hard",
    "My token of appreciation is a cake",
    "the secret is to stir slowly for 20 minutes",
    "The secret ingredient is cinnamon",
    "the key is under the mat",
    "Basic understanding of responsibilities",
    "sk-learn is how I call scikit-learn, a risk-averse-long-hyphenated-name",
    "pin 13 is connected to GPIO 17",
    "The pin is 5 mm long",
    "Call me at +49 170 1234567 or +1 (555) 010-9999",
    "0170 1234567, 555-0123",
    "My order 1234567890123456 did not arrive",
    "tracking 1Z999AA10123456784",
    "message id 123456789012345678 by <@411111111111111101>",
    "https://discord.com/channels/411111111111111111/4111111111111111",
    "https://github.com/ann/notes/commit/9b74c9897bac770ffc029102a200c5de9b74c989",
    "https://shop.example/item?id=4111111111111111",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "commit da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "f47ac10b-58cc-4372-a567-0e02b2c3d479",
    "ISBN 978-3-16-148410-0",
    "Born 1990-05-03, moved 2019-11-24T10:20:30.123456Z, 20240131123045",
    "1712345678.123456 is a Slack timestamp",
    "192.168.100.200 and 2001:0db8:85a3:0000:0000:8a2e:0370:7334",
    "see docs at https://user.example.org:8080/path@here",
    "I live in Rome at Via Appia 12, 00179",
    "ann.smith@example.org",
    "I run 10 km in 52:30 and swim 1500 m",
    "我叫安娜，住在北京。",
    "Ich heiße Anna und wohne in Köln",
    "🎉🎉🎉",
    "",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_removed_and_the_rest_of_the_text_stays(text: str, secret: str) -> None:
    redacted = redact(text)
    assert secret not in redacted
    assert REMOVED in redacted
    assert redact(redacted) == redacted


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


def test_what_stands_around_a_secret_stays() -> None:
    assert redact(f"Hi! My card is {CARD}, I live in Rome.") == f"Hi! My card is {REMOVED}, I live in Rome."
    assert redact("My password is hunter2. I like tea.") == f"My password is {REMOVED}. I like tea."
    assert redact("パスワードはneko1234です") == f"パスワードは{REMOVED}です"
    assert redact("postgres://ann:pw1@db/x") == f"postgres://ann:{REMOVED}@db/x"


@given(st.text())
def test_redacting_twice_is_redacting_once(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@given(st.lists(st.sampled_from([secret for _, secret in SECRETS[:11]] + ["and", "my", "is", "password", ":", "\n"])))
def test_no_mixture_of_keys_and_words_lets_a_key_through(pieces: list[str]) -> None:
    text = " ".join(pieces)
    redacted = redact(text)
    assert redact(redacted) == redacted
    for key in (AWS_ID, GITHUB, SLACK, CLAUDE, OPENAI, GOOGLE, STRIPE, DISCORD, JWT):
        assert key not in redacted


@given(st.integers(min_value=10**13, max_value=10**14 - 1))
def test_a_card_number_is_known_by_its_check_digit(body: int) -> None:
    payload = f"4{body}"
    digits = [int(digit) * (2 if place % 2 == 0 else 1) for place, digit in enumerate(payload)]
    check = -sum(digit - 9 if digit > 9 else digit for digit in digits) % 10
    assert redact(f"{payload}{check}") == REMOVED
    assert redact(f"{payload}{(check + 1) % 10}") == f"{payload}{(check + 1) % 10}"


UNITS = """
    a 1 1a 4111_ password_ password_is_ sk- -eyJ eyJa. a. token: -token=a bearer_ x1_is_my_ 1a_ https:// a:b@ pin_
    GB82_ ` " { password:( xoxb- N. -----BEGIN_PRIVATE_KEY-----
"""


@pytest.mark.parametrize("unit", [unit.replace("_", " ") for unit in UNITS.split()])
def test_a_long_text_is_searched_in_linear_time(unit: str) -> None:
    started = time.process_time()
    redact(unit * (50_000 // len(unit)))
    assert time.process_time() - started < 2.0
