"""Settings: the process, and where it keeps what it keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator

from bot.config.fields import setting

LogLevel = Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(str.upper)]


class ProcessSettings(BaseModel):
    """The process, and where memory is kept."""

    data_dir: Path = setting(Path("data"), "Folder for the database and everything else kept.", "data")
    database_url: str | None = setting(
        None, "The database. Without one: keepsake.db in DATA_DIR.", "sqlite:////var/lib/keepsake/keepsake.db"
    )
    idle_sweep_seconds: float = setting(60.0, "How often idle sessions are looked for.", "60", gt=0)
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

    @property
    def database_address(self) -> str:
        """The database's address, with the default in DATA_DIR filled in."""
        return self.database_url or f"sqlite:///{self.data_dir.expanduser() / 'keepsake.db'}"
