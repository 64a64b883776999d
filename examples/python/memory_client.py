"""A client of the memory service in one file, to copy into your project. Needs httpx.

    with MemoryClient("http://127.0.0.1:8787", api_key) as memory:
        memory.execute("alice", "memory_read", {"path": "user/profile.md"})

`AsyncMemoryClient` has the same methods, to be awaited. With `tool_prefix="team_"`, `list_tools` gives
`team_memory_read` and so on, and `execute` takes these names: for an agent that has two memories.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import time
import uuid
from collections.abc import Generator
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
    ) -> _Steps:
        context = {"userId": user_id, "actor": actor, "toolCallId": tool_call_id}
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
        return (yield from self._send(request))["result"]

    def _send(self, request: httpx.Request) -> _Steps:
        for attempt in range(self._max_retries + 1):
            outcome = yield request
            error = _to_error(outcome)
            if error is None:
                return outcome.json()
            delay = max(0.25 * 2**attempt * random.uniform(0.5, 1), error.retry_after)
            if attempt == self._max_retries or not _was_not_carried_out(error) or delay > 10:
                raise error
            yield delay


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
    ) -> dict[str, Any]:
        """Runs a tool for a user whom your server has authenticated, and returns its result."""
        key = idempotency_key
        return self._run(self._execute(user_id, tool, arguments, actor, tool_call_id, key))

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
    ) -> dict[str, Any]:
        """Runs a tool for a user whom your server has authenticated, and returns its result."""
        key = idempotency_key
        return await self._run(self._execute(user_id, tool, arguments, actor, tool_call_id, key))

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
