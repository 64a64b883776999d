"""Claude with its own memory tool (memory_20250818), kept in the memory service with its history.

    pip install -r examples/python/requirements/anthropic.txt
    python examples/python/with_anthropic_memory.py

`/memories` is `user/`. Deleting and renaming need `SERVICE_TOOLS_DELETE` and `SERVICE_TOOLS_MOVE`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from anthropic import Anthropic
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool

from memory_client import FileNotFound, MemoryClient, MemoryServiceError, VersionConflict

SERVICE_URL = os.environ.get("SERVICE_URL", "http://127.0.0.1:8787")
API_KEY = os.environ["SERVICE_API_KEY"]

ROOT = "/memories"
# How often an edit is repeated when other writers are quicker.
ATTEMPTS = 20


class MemoryServiceTool(BetaAbstractMemoryTool):
    """The memory tool of one user, with the answers that Anthropic documents."""

    def __init__(self, memory: MemoryClient, user_id: str) -> None:
        super().__init__()
        self._memory, self._user_id = memory, user_id

    def execute(self, command: Any) -> Any:
        try:
            return super().execute(command)
        except MemoryServiceError as error:
            raise ToolError(f"Error {error}") from error

    def view(self, command: Any) -> str:
        file = self._read(command.path)
        if file is None:
            return self._view_folder(command.path)
        lines = file["content"].split("\n")
        first, last = command.view_range or (1, -1)
        shown = lines[max(first, 1) - 1 : None if last == -1 else last]
        return f"Here's the content of {command.path} with line numbers:\n" + _number(shown, first)

    def create(self, command: Any) -> str:
        file = {"path": _virtual(command.path), "content": command.file_text, "ifVersion": 0}
        try:
            self._call("memory_write", file)
        except VersionConflict:
            raise ToolError(f"Error: File {command.path} already exists") from None
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: Any) -> str:
        def change(content: str) -> tuple[str, str]:
            old, path = command.old_str, command.path
            count = content.count(old) if old else 0
            if count == 0:
                raise ToolError(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
                )
            lines = [at + 1 for at, line in enumerate(content.split("\n")) if old in line]
            if count > 1:
                raise ToolError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in "
                    f"lines: {', '.join(map(str, lines))}. Please ensure it is unique"
                )
            line = content[: content.index(old)].count("\n")
            changed = content.replace(old, command.new_str)
            first = max(0, line - 2)
            end = line + command.new_str.count("\n") + 3
            snippet = _number(changed.split("\n")[first:end], first + 1)
            return changed, (
                "The memory file has been edited. Here is the snippet showing the change "
                f"(with line numbers):\n{snippet}"
            )

        return self._edit(command.path, change)

    def insert(self, command: Any) -> str:
        def change(content: str) -> tuple[str, str]:
            lines = content.split("\n")
            if not 0 <= command.insert_line <= len(lines):
                raise ToolError(
                    f"Error: Invalid `insert_line` parameter: {command.insert_line}. It should be "
                    f"within the range of lines of the file: [0, {len(lines)}]"
                )
            lines.insert(command.insert_line, command.insert_text.removesuffix("\n"))
            return "\n".join(lines), f"The file {command.path} has been edited."

        return self._edit(command.path, change)

    def delete(self, command: Any) -> str:
        for path in self._paths(command.path):
            self._call("memory_delete", {"path": path})
        return f"Successfully deleted {command.path}"

    def rename(self, command: Any) -> str:
        source, target = _virtual(command.old_path), _virtual(command.new_path)
        if self._read(command.new_path) is not None or self._list(target):
            raise ToolError(f"Error: The destination {command.new_path} already exists")
        for path in self._paths(command.old_path):
            self._call("memory_move", {"from": path, "to": target + path.removeprefix(source)})
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        raise ToolError("Error: Cannot delete the /memories directory itself")

    def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self._memory.execute(self._user_id, tool, arguments, actor="anthropic")

    def _read(self, path: str) -> dict[str, Any] | None:
        if _virtual(path) == "user":
            return None
        try:
            return self._call("memory_read", {"path": _virtual(path)})
        except FileNotFound:
            return None

    def _edit(self, path: str, change: Callable[[str], tuple[str, str]]) -> str:
        """Changes what it has read; when another writer was quicker, it reads again."""
        for attempt in range(ATTEMPTS):
            file = self._read(path)
            if file is None:
                raise ToolError(_no_path(path))
            content, answer = change(file["content"])
            write = {"path": _virtual(path), "content": content, "ifVersion": file["version"]}
            try:
                self._call("memory_write", write)
                return answer
            except VersionConflict:
                if attempt == ATTEMPTS - 1:
                    raise
        raise AssertionError

    def _list(self, folder: str) -> list[dict[str, Any]]:
        files: list[dict[str, Any]] = []
        cursor = None
        while True:
            arguments = {"path": f"{folder}/", "limit": 500, "cursor": cursor}
            page = self._call("memory_list", arguments)
            files += page["files"]
            cursor = page["nextCursor"]
            if cursor is None:
                return files

    def _paths(self, path: str) -> list[str]:
        """The file at that path, or every file in that folder."""
        if _virtual(path) == "user":
            raise ToolError(f"Error: Cannot delete or rename the {ROOT} directory itself")
        if self._read(path) is not None:
            return [_virtual(path)]
        paths = [file["path"] for file in self._list(_virtual(path))]
        if not paths:
            raise ToolError(_no_path(path))
        return paths

    def _view_folder(self, path: str) -> str:
        folder = _virtual(path)
        files = self._list(folder)
        if not files and folder != "user":
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        sizes: dict[str, int] = {"": 0}
        for file in files:
            names = file["path"].removeprefix(f"{folder}/").split("/")
            sizes[""] += file["size"]
            for depth in range(1, min(2, len(names)) + 1):
                shown = "/" + "/".join(names[:depth]) + ("/" if depth < len(names) else "")
                sizes[shown] = sizes.get(shown, 0) + file["size"]
        root = path.removesuffix("/")
        entries = [f"{_size(size)}\t{root}{name}" for name, size in sorted(sizes.items())]
        return "\n".join([
            f"Here're the files and directories up to 2 levels deep in {root}, "
            "excluding hidden items and node_modules:",
            *entries,
        ])


def _virtual(path: str) -> str:
    """`/memories/notes/a.md` is `user/notes/a.md`. The service checks the rest."""
    plain = path.removesuffix("/")
    if plain != ROOT and not plain.startswith(f"{ROOT}/"):
        raise ToolError(f"Error: Path must start with {ROOT}, got: {path[:200]}")
    return f"user{plain.removeprefix(ROOT)}"


def _no_path(path: str) -> str:
    return f"Error: The path {path} does not exist. Please provide a valid path."


def _number(lines: list[str], first: int) -> str:
    return "\n".join(f"{at:>6}\t{line}" for at, line in enumerate(lines, max(first, 1)))


def _size(size: float) -> str:
    for unit in "BKM":
        if size < 1024:
            return f"{size:.1f}".removesuffix(".0") + unit
        size /= 1024
    return f"{size:.1f}G"


# #region agent
def ask(memory: MemoryClient, user_id: str, prompt: str) -> str:
    """Answers with the memory of a user whom your server has authenticated."""
    runner = Anthropic().beta.messages.tool_runner(
        model=os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5"),
        max_tokens=4096,
        messages=[{"role": "user", "content": prompt}],
        tools=[MemoryServiceTool(memory, user_id)],
        # Sends the whole conversation at each turn. Otherwise Anthropic's servers hold a part of it.
        thread=False,
    )
    message = runner.until_done()
    return "".join(block.text for block in message.content if block.type == "text")
# #endregion


def main() -> None:
    with MemoryClient(SERVICE_URL, API_KEY) as memory, ThreadPoolExecutor() as pool:
        # Two users at the same time, in one process.
        told = [
            pool.submit(ask, memory, "alice", "I drink tea. Please remember that."),
            pool.submit(ask, memory, "bob", "I drink coffee. Please remember that."),
        ]
        for one in told:
            one.result()
        for user_id in ("alice", "bob"):
            print(f"{user_id}: {ask(memory, user_id, 'What do I drink?')}")


if __name__ == "__main__":
    main()
