"""A LangGraph agent with the memory tools, over MCP. Each user gets tools of their own.

    pip install -r examples/python/requirements/langgraph.txt
    python examples/python/with_langgraph.py
"""

import asyncio
import os

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI

SERVICE_URL = os.environ.get("SERVICE_URL", "http://127.0.0.1:8787")
API_KEY = os.environ["SERVICE_API_KEY"]


# #region agent
async def ask(user_id: str, prompt: str) -> str:
    """Answers with the memory of a user whom your server has authenticated."""
    client = MultiServerMCPClient({
        "memory": {
            "transport": "http",
            "url": f"{SERVICE_URL}/v1/mcp",
            "headers": {
                "Authorization": f"Bearer {API_KEY}",
                "x-user-id": user_id,
                "x-actor": "langgraph",
            },
            # The default of 30 s is short for memory_remember and memory_context with a model.
            "timeout": 120,
        }
    })
    model = ChatOpenAI(model=os.environ.get("OPENAI_MODEL", "gpt-5-mini"))
    agent = create_agent(model, await client.get_tools())
    answer = await agent.ainvoke({"messages": [{"role": "user", "content": prompt}]})
    return answer["messages"][-1].text
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
