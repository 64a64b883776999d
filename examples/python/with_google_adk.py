"""A Google ADK agent with the memory tools, over MCP. One agent serves all users.

    pip install -r examples/python/requirements/google-adk.txt
    python examples/python/with_google_adk.py
"""

import asyncio
import os

from google.adk.agents import LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from google.genai import types

SERVICE_URL = os.environ.get("SERVICE_URL", "http://127.0.0.1:8787")
API_KEY = os.environ["SERVICE_API_KEY"]


# #region agent
def headers(context: ReadonlyContext) -> dict[str, str]:
    """Asked for at each call. The user is the one whom the runner was given."""
    return {
        "Authorization": f"Bearer {API_KEY}",
        "x-user-id": context.user_id,
        "x-actor": "google-adk",
    }


memory = McpToolset(
    connection_params=StreamableHTTPConnectionParams(
        url=f"{SERVICE_URL}/v1/mcp",
        # To connect. After the default of 5 s, the agent goes on without tools, silently.
        timeout=120,
    ),
    header_provider=headers,
)
agent = LlmAgent(
    name="assistant",
    # A Gemini model needs no LiteLlm: model="gemini-3-flash".
    model=LiteLlm(model=f"openai/{os.environ.get('OPENAI_MODEL', 'gpt-5-mini')}"),
    tools=[memory],
)
runner = InMemoryRunner(agent=agent, app_name="assistant")


async def ask(user_id: str, prompt: str) -> str:
    """Answers with the memory of a user whom your server has authenticated."""
    session = await runner.session_service.create_session(app_name="assistant", user_id=user_id)
    message = types.Content(role="user", parts=[types.Part(text=prompt)])
    answer = ""
    async for event in runner.run_async(
        user_id=user_id, session_id=session.id, new_message=message
    ):
        if event.is_final_response() and event.content and event.content.parts:
            answer = "".join(part.text or "" for part in event.content.parts)
    return answer
# #endregion


async def main() -> None:
    # Two users at the same time, in one process.
    await asyncio.gather(
        ask("alice", "I drink tea. Please remember that."),
        ask("bob", "I drink coffee. Please remember that."),
    )
    for user_id in ("alice", "bob"):
        print(f"{user_id}: {await ask(user_id, 'What do I drink?')}")
    await runner.close()


if __name__ == "__main__":
    asyncio.run(main())
