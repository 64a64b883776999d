"""A LlamaIndex agent with the memory tools, over MCP. Each user gets tools of their own.

    pip install -r examples/python/requirements/llamaindex.txt
    python examples/python/with_llamaindex.py
"""

import asyncio
import os

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

SERVICE_URL = os.environ.get("SERVICE_URL", "http://127.0.0.1:8787")
API_KEY = os.environ["SERVICE_API_KEY"]


# #region agent
async def ask(user_id: str, prompt: str) -> str:
    """Answers with the memory of a user whom your server has authenticated."""
    client = BasicMCPClient(
        f"{SERVICE_URL}/v1/mcp",
        headers={
            "Authorization": f"Bearer {API_KEY}",
            "x-user-id": user_id,
            "x-actor": "llamaindex",
        },
        # The default of 30 s is short for memory_remember and memory_context with a model.
        timeout=120,
    )
    tools = await McpToolSpec(client=client).to_tool_list_async()
    model = OpenAILike(
        model=os.environ.get("OPENAI_MODEL", "gpt-5-mini"),
        api_base=os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1"),
        api_key=os.environ["OPENAI_API_KEY"],
        is_chat_model=True,
        is_function_calling_model=True,
    )
    agent = FunctionAgent(tools=tools, llm=model)
    return str(await agent.run(prompt))
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
