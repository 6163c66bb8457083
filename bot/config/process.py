"""Settings: the process, and where it keeps what it keeps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, SecretStr, field_validator

from bot.config.fields import YEAR_HOURS, setting
from memory.database import parsed
from memory.mirror.process import MirrorAddress

_PRICE = re.compile(r"([\w.-]+)=(\d+(?:\.\d+)?)/(\d+(?:\.\d+)?)")

_ENCRYPTED = ("libsql", "https")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")

LogLevel = Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(str.upper)]


class ProcessSettings(BaseModel):
    """The process, and where memory is kept."""

    data_dir: Path = setting(Path("data"), "Folder for the database and everything else kept.", "data")
    database_url: str | None = setting(
        None, "The database. Without one: keepsake.db in DATA_DIR.", "sqlite:////var/lib/keepsake/keepsake.db"
    )
    backup_dir: Path | None = setting(None, "Folder for backups made by the clock. Without one: none.", "/srv/backups")
    backup_every_hours: float = setting(24.0, "How often a backup is made.", "24", gt=0, le=YEAR_HOURS)
    backup_keep: int = setting(7, "How many of those backups are kept; older ones are deleted.", "7", ge=1, le=10_000)
    turso_url: str | None = setting(
        None,
        "A Turso database in which memory is mirrored, and from which it comes back. Needs the extra turso.",
        "libsql://keepsake-you.turso.io",
    )
    turso_auth_token: SecretStr | None = setting(None, "The token of that database.", "eyJ...")
    sync_messages: bool = setting(
        False, "Whether what is said is mirrored word for word too, beside what is remembered of it.", "true"
    )
    idle_sweep_seconds: float = setting(60.0, "How often idle sessions are looked for.", "60", gt=0, le=86_400)
    reminder_sweep_seconds: float = setting(5.0, "How often reminders that are due are looked for.", "5", ge=0.1, le=60)
    mcp_config: Path | None = setting(
        None, "JSON file that names MCP servers, whose tools the model may use; see docs/tools.md.", "mcp.json"
    )
    log_level: LogLevel = setting("INFO", "Least severe log line written.", "INFO")
    host: str = setting("127.0.0.1", "Address that the web server listens on.", "0.0.0.0", min_length=1)
    port: int = setting(
        8080,
        "Port of the web server (health, Slack over HTTP); 0 for any free one.",
        "8080",
        ge=0,
        le=65_535,
    )

    metrics_host: str = setting(
        "127.0.0.1", "Address on which numbers for Prometheus are shown.", "10.0.0.5", min_length=1
    )
    metrics_port: int = setting(9464, "Port of that page; 0 for any free one.", "9464", ge=0, le=65_535)
    model_prices: str | None = setting(
        None,
        "US dollars for a million tokens that a model reads and writes, for the estimated cost.",
        "claude-sonnet-5-5=3/15",
    )

    @field_validator("turso_url")
    @classmethod
    def _is_turso(cls, value: str | None) -> str | None:
        if value is None:
            return None
        address = urlsplit(value)
        at_home = address.scheme == "http" and address.hostname in _LOOPBACK
        if not address.hostname or not (address.scheme in _ENCRYPTED or at_home):
            raise ValueError("it must begin with libsql:// or https:// (http:// only for this very machine)")
        if address.query or address.username or address.password:
            raise ValueError("a token in it would stand in logs; leave it out and set TURSO_AUTH_TOKEN")
        return value

    @field_validator("model_prices")
    @classmethod
    def _are_prices(cls, value: str | None) -> str | None:
        prices_of(value)
        return value

    @property
    def prices(self) -> dict[str, tuple[float, float]]:
        """By model: US dollars for a million tokens read, and written."""
        return prices_of(self.model_prices)

    @property
    def mirror(self) -> MirrorAddress | None:
        """Where memory is mirrored; None for nowhere."""
        if self.turso_url is None:
            return None
        token = None if self.turso_auth_token is None else self.turso_auth_token.get_secret_value()
        folder = self.data_dir.expanduser() / "mirror"
        return MirrorAddress(url=self.turso_url, token=token, folder=folder, with_messages=self.sync_messages)

    @property
    def database_address(self) -> str:
        """The database's address, with the default in DATA_DIR filled in."""
        return self.database_url or f"sqlite:///{self.data_dir.expanduser() / 'keepsake.db'}"

    @property
    def database_file(self) -> Path | None:
        """The file that everything is kept in; None where the address names none.

        Raises:
            DatabaseUnavailable: DATABASE_URL is no address.
        """
        name = parsed(self.database_address).database
        return None if not name or name == ":memory:" else Path(name)


def prices_of(listed: str | None) -> dict[str, tuple[float, float]]:
    """The prices in a list as ``model=read/written``, separated by commas.

    Raises:
        ValueError: the list is written in another way.
    """
    prices = {}
    for entry in filter(None, (one.strip() for one in (listed or "").split(","))):
        found = _PRICE.fullmatch(entry)
        if found is None:
            raise ValueError(f"{entry[:60]!r} is no price of a model")
        prices[found[1]] = (float(found[2]), float(found[3]))
    return prices
