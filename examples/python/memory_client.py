"""A client of the memory service in one file, to copy into your project. Needs httpx.

    with MemoryClient("http://127.0.0.1:8787", api_key) as memory:
        memory.execute("alice", "memory_read", {"path": "user/profile.md"})

`AsyncMemoryClient` has the same methods, to be awaited. `remember` keeps what a user said, after each turn of
an agent. With `tool_prefix="team_"`, `list_tools` gives
`team_memory_read` and so on, and `execute` takes these names: for an agent that has two memories.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import random
import re
import time
import uuid
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import httpx


class MemoryServiceError(Exception):
    """A call that the service refused or failed at. `code` is one of docs/reference/errors.md."""

    def __init__(self, code: str, message: str, status: int = 503, **fields: Any) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.status = code, message, status
        self.details: dict[str, Any] = fields.get("details") or {}
        # Whether the same call may succeed later.
        self.retryable: bool = fields.get("retryable") is True
        # What to do about it, in a sentence.
        self.action: str | None = fields.get("action")
        self.trace_id: str | None = fields.get("traceId")
        self.tool_call_id: str | None = fields.get("toolCallId")
        self.retry_after: float = fields.get("retry_after", 0.0)


class FileNotFound(MemoryServiceError):
    """There is no such file or revision."""


class VersionConflict(MemoryServiceError):
    """Someone else wrote first. Read the file again."""


class InvalidRequest(MemoryServiceError):
    """The arguments are wrong. The message says what to change."""


class RateLimited(MemoryServiceError):
    """Too many calls; `retry_after` seconds later there is room again."""


class Unreachable(MemoryServiceError):
    """The service did not answer, or what answered is not the service."""


_BY_CODE = {
    "FILE_NOT_FOUND": FileNotFound,
    "REVISION_NOT_FOUND": FileNotFound,
    "VERSION_CONFLICT": VersionConflict,
    "RATE_LIMITED": RateLimited,
}

# What could not be kept of a turn is told here.
log = logging.getLogger("memory_client")
# Characters of a message that memory_remember takes.
_LONGEST_TEXT = 16_384

# Each step is a request to send, or a number of seconds to wait.
_Steps = Generator["httpx.Request | float", "httpx.Response | httpx.TransportError | None", Any]


class _Base:
    """What both clients share: the requests, the retries and the errors."""

    def __init__(
        self, base_url: str, api_key: str, *, timeout: float, max_retries: int, tool_prefix: str
    ) -> None:
        self._url = base_url.rstrip("/")
        # Before the names that a model sees, where an agent has the tools of two memories.
        self._prefix = tool_prefix
        self._headers = {"Authorization": f"Bearer {api_key}"}
        self._max_retries = max_retries
        self._told: set[str] = set()
        # Seconds without a byte from the service. memory_remember and memory_context wait for a model.
        self._options: dict[str, Any] = {"timeout": timeout, "follow_redirects": False}

    def _list_tools(self) -> _Steps:
        request = httpx.Request("GET", f"{self._url}/v1/tools", headers=self._headers)
        tools = (yield from self._send(request))["tools"]
        names = {tool["name"] for tool in tools}
        for tool in tools:
            tool["name"] = self._prefix + tool["name"]
            tool["description"] = self._rename(tool["description"], names)
        return tools

    def _rename(self, text: str, names: set[str]) -> str:
        """The descriptions of tools name each other."""
        return re.sub(
            r"\b\w+\b", lambda word: self._prefix * (word[0] in names) + word[0], text
        )

    def _execute(
        self,
        user_id: str,
        tool: str,
        arguments: dict[str, Any],
        actor: str | None,
        tool_call_id: str | None,
        idempotency_key: str | None,
        timeout: float | None = None,
        spaces: Mapping[str, str] | None = None,
    ) -> _Steps:
        named = [{"id": space, "access": access} for space, access in (spaces or {}).items()]
        context = {
            "userId": user_id,
            "spaces": named or None,
            "actor": actor,
            "toolCallId": tool_call_id,
        }
        request = httpx.Request(
            "POST",
            f"{self._url}/v1/tools/{tool.removeprefix(self._prefix)}/execute",
            json={
                "context": {key: value for key, value in context.items() if value is not None},
                "arguments": arguments,
            },
            # All attempts have the same key, so that a write is made only once.
            headers={**self._headers, "Idempotency-Key": idempotency_key or str(uuid.uuid4())},
        )
        if timeout is not None:
            request.extensions["timeout"] = httpx.Timeout(timeout).as_dict()
        retries = self._max_retries if timeout is None else 0
        return (yield from self._send(request, retries))["result"]

    def _remember(
        self,
        user_id: str,
        messages: Sequence[Mapping[str, Any]],
        actor: str | None,
        conversation: str | None,
        timeout: float,
    ) -> _Steps:
        end = time.monotonic() + timeout
        results = []
        try:
            for index in _last_turn(messages):
                text = _text_of(messages[index])
                if text.strip() == "":
                    continue
                if len(text) > _LONGEST_TEXT:
                    log.warning("A message of %d characters was not kept: too long.", len(text))
                    continue
                arguments = {"text": text, "wait": False, "reason": "The user said so."}
                said = {"at": messages[index].get("at"), "speaker": messages[index].get("name")}
                arguments |= {key: value for key, value in said.items() if value is not None}
                key = _turn_key(messages[: index + 1], conversation)
                left = max(0.1, end - time.monotonic())
                try:
                    call = self._execute(
                        user_id, f"{self._prefix}memory_remember", arguments, actor, None, key, left
                    )
                    results.append((yield from call))
                    self._told.clear()
                except MemoryServiceError as error:
                    # It is about this message alone: it holds a secret.
                    if error.code != "INVALID_CONTENT":
                        raise
                    log.warning("A message was not kept: %s", error.message)
        except Exception as error:
            # A turn never fails because of its memory. What lasts is told once.
            code = getattr(error, "code", type(error).__name__)
            if code not in self._told:
                self._told.add(code)
                log.warning("Messages are not kept: %s", error)
        return results

    def _send(self, request: httpx.Request, retries: int | None = None) -> _Steps:
        most = self._max_retries if retries is None else retries
        for attempt in range(most + 1):
            outcome = yield request
            error = _to_error(outcome)
            if error is None:
                return outcome.json()
            delay = max(0.25 * 2**attempt * random.uniform(0.5, 1), error.retry_after)
            if attempt == most or not _was_not_carried_out(error) or delay > 10:
                raise error
            yield delay


def _last_turn(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """The last messages of the user that no answer parts, in the forms of OpenAI and Anthropic."""
    own = [at for at, message in enumerate(messages) if _is_of_user(message)]
    before = messages[: own[-1]] if own else []
    answers = [at for at, message in enumerate(before) if _is_answer(message)]
    return [at for at in own if not answers or at > answers[-1]]


def _is_of_user(message: Mapping[str, Any]) -> bool:
    # Results of tools are messages of the user in Anthropic's API; text beside them is the user's own.
    is_result = _has_part(message, "tool_result") and _text_of(message).strip() == ""
    return message.get("role") == "user" and not is_result


def _is_answer(message: Mapping[str, Any]) -> bool:
    # Calls and results of OpenAI's Responses API have no role.
    return not _is_of_user(message) and message.get("role") not in ("system", "developer")


def _has_part(message: Mapping[str, Any], kind: str) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(part.get("type") == kind for part in content)


def _text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    kinds = ("text", "input_text")
    return "\n".join(part["text"] for part in content if part.get("type") in kinds)


def _turn_key(up_to: Sequence[Mapping[str, Any]], conversation: str | None) -> str:
    """The same for a turn that is repeated, another one for the same words later in a conversation."""
    # Conversations without an id may begin with the same words: they are told apart by their time.
    which = conversation or int(time.time() // 600)
    said = [(one["role"], _text_of(one)) for one in up_to if one.get("role") in ("user", "assistant")]
    # The last ones alone, since an app may send a part of its history.
    words = up_to[-1].get("id") or [one for one in said if one[1].strip() != ""][-7:]
    return "keep-" + hashlib.sha256(json.dumps([which, words]).encode()).hexdigest()


def _was_not_carried_out(error: MemoryServiceError) -> bool:
    return error.retryable and error.status in (408, 429, 503)


def _to_error(outcome: httpx.Response | httpx.TransportError) -> MemoryServiceError | None:
    if isinstance(outcome, httpx.TransportError):
        reason = f"{type(outcome).__name__}: {outcome}"
        return Unreachable("SERVICE_UNREACHABLE", reason, retryable=True)
    try:
        body = outcome.json()
    except ValueError:
        body = None
    if outcome.is_success and isinstance(body, dict):
        return None
    after = outcome.headers.get("retry-after", "")
    retry_after = float(after) if after.isdigit() else 0.0
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or "code" not in error:
        message = f"What answered (status {outcome.status_code}) is not the memory service."
        again = outcome.status_code >= 500 or outcome.status_code == 429
        return Unreachable(
            "SERVICE_UNREACHABLE", message, retryable=again, retry_after=retry_after
        )
    fallback = InvalidRequest if outcome.status_code == 400 else MemoryServiceError
    kind = _BY_CODE.get(error["code"], fallback)
    return kind(status=outcome.status_code, retry_after=retry_after, **error)


class MemoryClient(_Base):
    """Calls the tools of a service. One client serves all users and threads."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float = 60,
        max_retries: int = 2,
        tool_prefix: str = "",
    ) -> None:
        super().__init__(
            base_url, api_key, timeout=timeout, max_retries=max_retries, tool_prefix=tool_prefix
        )
        self._http = httpx.Client(**self._options)

    def list_tools(self) -> list[dict[str, Any]]:
        """Lists the tools, with a JSON Schema of their arguments."""
        return self._run(self._list_tools())

    def execute(
        self,
        user_id: str,
        tool: str,
        arguments: dict[str, Any],
        *,
        actor: str | None = None,
        tool_call_id: str | None = None,
        idempotency_key: str | None = None,
        spaces: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Runs a tool for a user whom your server has authenticated, and returns its result.

        `spaces` are those that the call may use, as in `{"acme": "write", "docs": "read"}`.
        """
        key = idempotency_key
        steps = self._execute(user_id, tool, arguments, actor, tool_call_id, key, spaces=spaces)
        return self._run(steps)

    def remember(
        self,
        user_id: str,
        messages: Sequence[Mapping[str, Any]],
        *,
        actor: str | None = None,
        conversation: str | None = None,
        timeout: float = 5,
    ) -> list[dict[str, Any]]:
        """Keeps what the user said in the last turn of a conversation. Never fails: see `log`.

        `messages` are those of OpenAI's or Anthropic's API, with `id`, `at` and `name` where you have
        them. They are in the inbox of memory when this returns, and filed in the background. The service
        needs a model. With an id of the `conversation`, a turn that is repeated within a day is kept once.
        """
        return self._run(self._remember(user_id, messages, actor, conversation, timeout))

    def _run(self, steps: _Steps) -> Any:
        outcome: Any = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return end.value
            if isinstance(step, float):
                outcome = time.sleep(step)
                continue
            try:
                outcome = self._http.send(step)
            except httpx.TransportError as error:
                outcome = error

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> MemoryClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncMemoryClient(_Base):
    """`MemoryClient` for asyncio."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float = 60,
        max_retries: int = 2,
        tool_prefix: str = "",
    ) -> None:
        super().__init__(
            base_url, api_key, timeout=timeout, max_retries=max_retries, tool_prefix=tool_prefix
        )
        self._http = httpx.AsyncClient(**self._options)

    async def list_tools(self) -> list[dict[str, Any]]:
        """Lists the tools, with a JSON Schema of their arguments."""
        return await self._run(self._list_tools())

    async def execute(
        self,
        user_id: str,
        tool: str,
        arguments: dict[str, Any],
        *,
        actor: str | None = None,
        tool_call_id: str | None = None,
        idempotency_key: str | None = None,
        spaces: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Runs a tool for a user whom your server has authenticated, and returns its result.

        `spaces` are those that the call may use, as in `{"acme": "write", "docs": "read"}`.
        """
        key = idempotency_key
        steps = self._execute(user_id, tool, arguments, actor, tool_call_id, key, spaces=spaces)
        return await self._run(steps)

    async def remember(
        self,
        user_id: str,
        messages: Sequence[Mapping[str, Any]],
        *,
        actor: str | None = None,
        conversation: str | None = None,
        timeout: float = 5,
    ) -> list[dict[str, Any]]:
        """Keeps what the user said in the last turn of a conversation. Never fails: see `log`.

        `messages` are those of OpenAI's or Anthropic's API, with `id`, `at` and `name` where you have
        them. They are in the inbox of memory when this returns, and filed in the background. The service
        needs a model. With an id of the `conversation`, a turn that is repeated within a day is kept once.
        """
        return await self._run(self._remember(user_id, messages, actor, conversation, timeout))

    async def _run(self, steps: _Steps) -> Any:
        outcome: Any = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return end.value
            if isinstance(step, float):
                outcome = await asyncio.sleep(step)
                continue
            try:
                outcome = await self._http.send(step)
            except httpx.TransportError as error:
                outcome = error

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncMemoryClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


# #region example
def main() -> None:
    base_url = os.environ.get("SERVICE_URL", "http://127.0.0.1:8787")
    with MemoryClient(base_url, os.environ["SERVICE_API_KEY"]) as memory:
        for user_id, drink in (("alice", "tea"), ("bob", "coffee")):
            path = "user/profile.md"
            memory.execute(user_id, "memory_write", {"path": path, "content": "# Profile\n"})
            fact = {"path": path, "append": {"text": f"- Drinks {drink}."}}
            memory.execute(user_id, "memory_patch", fact, actor="httpx")
        for user_id in ("alice", "bob"):
            found = memory.execute(user_id, "memory_find", {"query": "what does the user drink"})
            print(f"{user_id}: {found['results'][0]['snippet'].strip()}")
        try:
            memory.execute("alice", "memory_read", {"path": "user/nothing.md"})
        except FileNotFound as error:
            print(error)
# #endregion


if __name__ == "__main__":
    main()
