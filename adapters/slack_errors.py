"""What Slack's errors mean for us: who must act, and in which words.

Invariant: every sentence for the operator names the setting or the page where the fault is put right.
"""

from __future__ import annotations

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.chat import AdapterStartFailed

TRANSPORT_ERRORS = (aiohttp.ClientError, TimeoutError)
"""What a call raises when Slack's answer did not come."""

_BOT_TOKEN_PAGE = "Copy the Bot User OAuth Token from OAuth & Permissions at https://api.slack.com/apps"
_APP_TOKEN_PAGE = (
    "Make an app-level token with the scope connections:write under Basic Information at https://api.slack.com/apps"
)
_REFUSALS = {
    "invalid_auth": "it is not valid",
    "not_authed": "it is empty",
    "token_revoked": "it was revoked",
    "token_expired": "it has expired",
    "account_inactive": "the app was removed from the workspace",
    "not_allowed_token_type": "it is of the wrong kind",
    "no_permission": "it lacks a permission",
    "missing_scope": "it lacks a scope",
    "app_not_found": "the app was deleted",
}
_NEVER_DELIVERED = frozenset(
    {
        "channel_not_found",
        "is_archived",
        "not_in_channel",
        "is_inactive",
        "user_not_found",
        "user_disabled",
        "user_not_in_channel",
        "cannot_dm_bot",
        "messages_tab_disabled",
        "message_limit_exceeded",
        "msg_too_long",
        "msg_blocks_too_long",
        "message_not_found",
        "cant_update_message",
        "no_text",
        "invalid_arguments",
        "ekm_access_denied",
        "team_access_not_granted",
        "slack_connect_file_link_sharing_blocked",
    }
)
_NEVER_TOLD = frozenset(
    {
        "access_denied",
        "channel_not_found",
        "method_not_supported_for_channel_type",
        "missing_scope",
        "no_permission",
        "not_allowed_token_type",
        "not_in_channel",
        "thread_not_found",
    }
)
_PERHAPS_DELIVERED = frozenset({None, "internal_error", "fatal_error", "request_timeout", "service_unavailable"})


def error_code(error: SlackApiError) -> str | None:
    """Slack's word for the error, or None where the answer was not one of its own (a proxy's page, say)."""
    response = error.response
    if isinstance(response, AsyncSlackResponse) and isinstance(response.data, dict):
        code = response.data.get("error")
        return code if isinstance(code, str) else None
    return None


def retry_after(error: SlackApiError) -> float | None:
    """The seconds Slack wants us to wait, or None if the error is not about our rate."""
    if error_code(error) != "ratelimited" and getattr(error.response, "status_code", None) != 429:
        return None
    value = error.response.headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else 1.0


def is_refusal(error: SlackApiError) -> bool:
    """Whether the token itself is refused, which no retry will change."""
    return error_code(error) in _REFUSALS


def never_delivered(error: SlackApiError) -> bool:
    """Whether Slack will not take this message however often it is tried."""
    code = error_code(error) or ""
    return code in _NEVER_DELIVERED or code.startswith("restricted_action")


def never_told(error: SlackApiError) -> bool:
    """Whether Slack will not show us the conversation however often we ask."""
    return error_code(error) in _NEVER_TOLD


def perhaps_delivered(error: SlackApiError) -> bool:
    """Whether the message may stand in the channel although the call failed; Slack says so of these errors."""
    return error_code(error) in _PERHAPS_DELIVERED


def start_failure(error: SlackApiError | aiohttp.ClientError | TimeoutError, *, setting: str) -> AdapterStartFailed:
    """The failure in plain words.

    Args:
        error: what the call to Slack raised.
        setting: ``SLACK_BOT_TOKEN`` or ``SLACK_APP_TOKEN``, whichever the call was made with.
    """
    if not isinstance(error, SlackApiError):
        return AdapterStartFailed(
            f"Slack cannot be reached ({type(error).__name__}). "
            "Check this machine's network, and SLACK_API_URL if it is set."
        )
    code = error_code(error)
    page = _APP_TOKEN_PAGE if setting == "SLACK_APP_TOKEN" else _BOT_TOKEN_PAGE
    if code == "missing_scope":
        needed = error.response.get("needed") or "the ones in docs/slack-manifest.json"
        return AdapterStartFailed(
            f"Slack refuses {setting}: it lacks a scope ({needed}). "
            "Add it under OAuth & Permissions and reinstall the app."
        )
    if code in _REFUSALS:
        return AdapterStartFailed(f"Slack refuses {setting}: {_REFUSALS[code]} ({code}). {page}.")
    if retry_after(error) is not None:
        return AdapterStartFailed("Slack limits how often we may start. Wait a minute and start again.")
    return AdapterStartFailed(
        f"Slack answered {setting} with an error ({code or 'no readable answer'}). Try again later."
    )
