"""The tools from Python, with nothing but the standard library.

    npm start                          in one terminal
    python3 examples/python/main.py    in another, from the root of the repository
"""

import json
import os
import urllib.error
import urllib.request
import uuid

BASE_URL = os.environ.get("SERVICE_URL", "http://127.0.0.1:8787")
API_KEY = os.environ.get("SERVICE_API_KEY")
if not API_KEY:
    with open("data/secrets.json", encoding="utf-8") as secrets:
        API_KEY = json.load(secrets)["apiKey"]


class ServiceError(Exception):
    """What the service refused: its code, message and details."""

    def __init__(self, code, message, details=None):
        super().__init__(f"{code}: {message}")
        self.code, self.details = code, details


def call_tool(user_id, name, arguments, idempotency_key=None):
    """Runs a tool for a user, whom your server knows; a model chooses name and arguments."""
    body = {"context": {"userId": user_id, "actor": "python-bot"}, "arguments": arguments}
    request = urllib.request.Request(
        f"{BASE_URL}/v1/tools/{name}/execute",
        data=json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {API_KEY}",
            "Content-Type": "application/json",
            # With the same key, a repeated write is made only once.
            "Idempotency-Key": idempotency_key or str(uuid.uuid4()),
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)["result"]
    except urllib.error.HTTPError as answer:
        error = json.load(answer)["error"]
        raise ServiceError(error["code"], error["message"], error.get("details")) from None


if __name__ == "__main__":
    written = call_tool("alice", "memory_write", {
        "path": "user/profile.md",
        "content": "# Profile\n\n- Prefers tea.\n",
        "reason": "The user said so.",
    })
    print(f"{written['path']} is at version {written['version']}")
    for found in call_tool("alice", "memory_find", {"query": "coffee or tea?"})["results"]:
        print(f"found in {found['path']}, line {found['startLine']}: {found['snippet'].strip()}")
    try:
        call_tool("alice", "memory_read", {"path": "user/nothing.md"})
    except ServiceError as error:
        print(error)
