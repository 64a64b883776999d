"""A CrewAI agent with the memory tools, over MCP. Each user gets tools of their own.

    pip install -r examples/python/requirements/crewai.txt
    python examples/python/with_crewai.py
"""

import os
from concurrent.futures import ThreadPoolExecutor

from crewai import LLM, Agent
from crewai_tools import MCPServerAdapter

SERVICE_URL = os.environ.get("SERVICE_URL", "http://127.0.0.1:8787")
API_KEY = os.environ["SERVICE_API_KEY"]


# #region agent
def ask(user_id: str, prompt: str) -> str:
    """Answers with the memory of a user whom your server has authenticated."""
    connection = {
        "transport": "streamable-http",
        "url": f"{SERVICE_URL}/v1/mcp",
        "headers": {
            "Authorization": f"Bearer {API_KEY}",
            "x-user-id": user_id,
            "x-actor": "crewai",
        },
        # The default of 30 s is short for memory_remember and memory_context with a model.
        "timeout": 120,
    }
    with MCPServerAdapter(connection) as tools:
        agent = Agent(
            role="Assistant",
            goal="Help the user.",
            backstory="You keep notes about the user in a memory.",
            tools=tools,
            llm=LLM(model=os.environ.get("OPENAI_MODEL", "gpt-5-mini")),
        )
        return agent.kickoff(prompt).raw
# #endregion


def main() -> None:
    # Two users at the same time, in one process.
    with ThreadPoolExecutor() as pool:
        told = [
            pool.submit(ask, "alice", "I drink tea. Please remember that."),
            pool.submit(ask, "bob", "I drink coffee. Please remember that."),
        ]
        for one in told:
            one.result()
    for user_id in ("alice", "bob"):
        print(f"{user_id}: {ask(user_id, 'What do I drink?')}")


if __name__ == "__main__":
    main()
