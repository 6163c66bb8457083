"""A secret that somebody pastes reaches no table, index, prompt, summary, reply or log."""

import re
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from memory.messages import ModelRequest
from memory.policy.secrets import REMOVED
from tests.fakes import ScriptedModel
from tests.world import running

SECRETS = {
    "a key of AWS": ("AKIA" + "Q3EGZVKQ7TEXAMPL", "deploy with {} please"),
    "a secret key": ("kJ7vPq2Xw9" + "RmT4nB8cZ5yL1dF6hG3sAe0uVxWzQtYpNi", "aws_secret_access_key={}"),
    "a token of GitHub": ("ghp_" + "Zk81Lm92Np73Qr64St55Uv46Wx37Yz28AbCd", "my token is {}"),
    "a key of a model": ("sk-ant-" + "api03-Qw12Er34Ty56Ui78Op90-As12Df34", "use {} for it"),
    "a web token": (
        "eyJhbGciOiJIUzI1NiJ9.eyJxenZ4a3EiOiIxMjM0In0" + ".c2lnbmF0dXJlcXp2eGtx",
        "Authorization: Bearer {}",
    ),
    "a card": ("4539 1488 0343 6467", "book it on {}, thanks"),
    "a password": ("Gr4upelschauer!", "my password is {} and I like tea"),
    "a plain password": ("zwielichtgestalt", "Mein Passwort ist {}"),
}


def pieces(secret: str) -> list[bytes]:
    """The secret, and what a full-text index could keep of it: its words, in lower case, their beginnings cut off."""
    words = [word.lower()[2:] for word in re.findall(r"[A-Za-z0-9]{8,}", secret)]
    return [piece.encode() for piece in (secret, *words)]


def contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


def echo(request: ModelRequest) -> str:
    """Says again whatever it was given, as careless models do."""
    return request.messages[-1].text[-300:]


@pytest.mark.parametrize(("secret", "message"), SECRETS.values(), ids=SECRETS.keys())
async def test_a_pasted_secret_is_kept_nowhere(tmp_path: Path, secret: str, message: str) -> None:
    model, memory_model = ScriptedModel(default=echo), ScriptedModel(default=echo)
    with capture_logs() as logs:
        async with running(tmp_path, model=model, memory_model=memory_model) as world:
            await world.say(message.format(secret))
            await world.say("What did I just tell you?")
            world.clock.advance(minutes=31)
            await world.system.sweep_idle()
            await world.system.settle()
            replies = world.channel.texts
    assert memory_model.requests
    assert REMOVED in replies[0]
    seen = [str(model.requests), str(memory_model.requests), str(replies), str(logs)]
    files = contents(tmp_path)
    assert any(REMOVED.encode() in data for data in files)
    for data in (*files, *(text.encode() for text in seen)):
        for piece in pieces(secret):
            assert piece not in data.lower()
            assert piece not in data


async def test_what_stands_beside_a_secret_is_kept(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await world.say("My password is Gr4upelschauer! I live in Rome.")
        assert f"My password is {REMOVED} I live in Rome." in str(world.model.requests[-1])
