"""Settings: when the bot speaks, what it reads of a message, and who may look after memory."""

from __future__ import annotations

from pydantic import BaseModel, field_validator

from bot.attachments import AttachmentLimits
from bot.config.fields import DEFAULTS, Ids, setting
from bot.speaking import Access, Listed
from memory.errors import InvalidInput
from memory.records import ChannelMode, check_person


class SpeakingSettings(BaseModel):
    """When it speaks, and to whom."""

    channel_mode: ChannelMode = setting(
        ChannelMode.THREADS,
        "When it answers in channels. mention: when named or replied to. threads: also in threads it takes part in. "
        "open: always. Admins choose otherwise for single channels.",
        "mention",
    )
    allow_servers: Ids = setting(None, "Servers and workspaces to answer in, by id; empty for all.", "1001,T024BE7LD")
    deny_servers: Ids = setting(None, "Servers and workspaces to be silent in, by id.", "1001,T024BE7LD")
    allow_channels: Ids = setting(
        None, "Channels to answer in, their threads included, by id; empty for all.", "2001,C024BE91L"
    )
    deny_channels: Ids = setting(None, "Channels to be silent in, their threads included, by id.", "2001,C024BE91L")
    allow_users: Ids = setting(None, "People to answer, by id; with ALLOW_ROLES empty, nobody else.", "3001,U024BE7LH")
    deny_users: Ids = setting(None, "People not to answer, by id.", "3001,U024BE7LH")
    allow_roles: Ids = setting(None, "Roles of Discord whose members to answer, beside ALLOW_USERS.", "4001")
    deny_roles: Ids = setting(None, "Roles of Discord whose members not to answer.", "4001")
    answer_bots: bool = setting(
        False, "Whether other bots that name this one are answered, at most 20 times a minute each.", "true"
    )
    channel_context_messages: int = setting(
        DEFAULTS.channel_context_messages,
        "Messages of others in a channel, since the person was last answered there, shown with a message; 0 for none.",
        "20",
        ge=0,
        le=100,
    )

    text_file_limit_kb: int = setting(
        200, "Largest text file that is read with a message, in KB; 0 for none.", "200", ge=0, le=10_000
    )
    image_limit_kb: int = setting(
        3_700, "Largest picture that is looked at with a message, in KB; 0 for none.", "3700", ge=0, le=3_700
    )

    bot_owners: str | None = setting(
        None, "Persons who may use the admin commands everywhere, separated by commas.", "discord:1001,slack:T1:U1"
    )
    slack_admin_reads_dms: bool = setting(
        True, "Whether admins of a Slack workspace may read what is remembered of direct messages.", "false"
    )

    @field_validator("bot_owners")
    @classmethod
    def _check_owners(cls, value: str | None) -> str | None:
        for person in _persons(value):
            try:
                check_person(person)
            except InvalidInput as error:
                raise ValueError(str(error)) from error
        return value

    @property
    def owners(self) -> frozenset[str]:
        """The persons of BOT_OWNERS."""
        return frozenset(_persons(self.bot_owners))

    @property
    def access(self) -> Access:
        """The lists of servers, channels, users and roles."""
        return Access(
            servers=Listed.of(self.allow_servers, self.deny_servers),
            channels=Listed.of(self.allow_channels, self.deny_channels),
            users=Listed.of(self.allow_users, self.deny_users),
            roles=Listed.of(self.allow_roles, self.deny_roles),
        )

    @property
    def attachment_limits(self) -> AttachmentLimits:
        """How large a file may be to be read."""
        return AttachmentLimits(text=self.text_file_limit_kb * 1_000, image=self.image_limit_kb * 1_000)


def _persons(listed: str | None) -> list[str]:
    return [person.strip() for person in (listed or "").split(",") if person.strip()]
