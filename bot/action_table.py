"""The action table: every action of every platform, in the order in which menus list them.

Invariant: an action exists on a platform because it stands here, and for no other reason.
"""

from __future__ import annotations

from bot.actions import Action, Place
from bot.command_table import COMMAND_TABLE
from bot.commands import Argument, Group
from bot.commands_clicked import FACT_COMMAND, FACTS_PAGE_COMMAND, FORGET_EXCHANGE_COMMAND, suggest_present_text

_MYDATA = {command.name: command for command in COMMAND_TABLE if command.group is Group.MYDATA}
_CORRECTED = Argument(name="text", help="What is right, in one short sentence.", suggest=suggest_present_text)

ACTION_TABLE: tuple[Action, ...] = (
    Action(name="why", label="Why this answer?", command=_MYDATA["why"], place=Place.MESSAGE),
    Action(
        name="forget-message",
        label="Forget this",
        command=FORGET_EXCHANGE_COMMAND,
        place=Place.MESSAGE,
        subject="message",
        asks="What you wrote, my answer to it and all that I learned or saved from the two go for good. "
        "The messages themselves stay where they are.",
    ),
    Action(name="fact", label="Choose a fact", command=FACT_COMMAND, subject="fact"),
    Action(name="correct", label="Correct", command=_MYDATA["correct"], subject="fact", form=(_CORRECTED,)),
    Action(name="pin", label="Pin", command=_MYDATA["pin"], subject="fact"),
    Action(name="unpin", label="Unpin", command=_MYDATA["unpin"], subject="fact"),
    Action(
        name="forget",
        label="Forget",
        command=_MYDATA["forget"],
        subject="fact",
        asks="I forget this fact, and do not learn it again from what was said before.",
    ),
    Action(name="memory", label="All in all", command=_MYDATA["show"]),
    Action(name="facts", label="What I know", command=FACTS_PAGE_COMMAND, subject="page"),
    Action(name="audit", label="Who looked", command=_MYDATA["audit"]),
    Action(name="pause", label="Pause", command=_MYDATA["pause"]),
    Action(name="resume", label="Resume", command=_MYDATA["resume"]),
    Action(name="export", label="Export", command=_MYDATA["export"]),
    Action(name="erase", label="Erase everything", command=_MYDATA["erase"], form=_MYDATA["erase"].arguments),
)
