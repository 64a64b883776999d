"""An agent of the OpenAI Agents SDK with the memory tools, over MCP.

    pip install -r examples/python/requirements/openai-agents.txt
    python examples/python/with_openai_agents.py
"""

import asyncio
import os

from agents import Agent, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp

SERVICE_URL = os.environ.get("SERVICE_URL", "http://127.0.0.1:8787")
API_KEY = os.environ["SERVICE_API_KEY"]

# Otherwise the SDK sends its traces, with what was remembered, to OpenAI.
set_tracing_disabled(True)


# #region agent
async def ask(user_id: str, prompt: str) -> str:
    """Answers with the memory of a user whom your server has authenticated."""
    server = MCPServerStreamableHttp(
        name="memory",
        params={
            "url": f"{SERVICE_URL}/v1/mcp",
            "headers": {
                "Authorization": f"Bearer {API_KEY}",
                "x-user-id": user_id,
                "x-actor": "openai-agents",
            },
            "timeout": 120,
        },
        # The default of 5 s is too short for memory_remember and memory_context with a model.
        client_session_timeout_seconds=120,
    )
    async with server:
        model = os.environ.get("OPENAI_MODEL", "gpt-5-mini")
        agent = Agent(name="Assistant", model=model, mcp_servers=[server])
        result = await Runner.run(agent, prompt)
        return result.final_output
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
