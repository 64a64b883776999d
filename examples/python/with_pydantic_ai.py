"""A PydanticAI agent with the memory tools, over MCP. One agent serves all users.

    pip install -r examples/python/requirements/pydantic-ai.txt
    python examples/python/with_pydantic_ai.py
"""

import asyncio
import os
from dataclasses import dataclass

from pydantic_ai import Agent, RunContext
from pydantic_ai.mcp import MCPToolset

SERVICE_URL = os.environ.get("SERVICE_URL", "http://127.0.0.1:8787")
API_KEY = os.environ["SERVICE_API_KEY"]


# #region agent
@dataclass
class Deps:
    user_id: str


def headers(run: RunContext[Deps]) -> dict[str, str]:
    """Asked for at each run, so that each run has the memory of its own user."""
    return {
        "Authorization": f"Bearer {API_KEY}",
        "x-user-id": run.deps.user_id,
        "x-actor": "pydantic-ai",
    }


memory = MCPToolset(
    f"{SERVICE_URL}/v1/mcp",
    headers=headers,
    # The default, `retry`, ends the run when a tool fails twice, as for two missing files.
    tool_error_behavior="failed",
)
agent = Agent(
    f"openai-chat:{os.environ.get('OPENAI_MODEL', 'gpt-5-mini')}",
    deps_type=Deps,
    toolsets=[memory],
)


async def ask(user_id: str, prompt: str) -> str:
    """Answers with the memory of a user whom your server has authenticated."""
    result = await agent.run(prompt, deps=Deps(user_id))
    return result.output
# #endregion


async def main() -> None:
    # Two users at the same time, in one process.
    await asyncio.gather(
        ask("alice", "I drink tea. Please remember that."),
        ask("bob", "I drink coffee. Please remember that."),
    )
    for user_id in ("alice", "bob"):
        print(f"{user_id}: {await ask(user_id, 'What do I drink?')}")


if __name__ == "__main__":
    asyncio.run(main())
