"""Runs a command at a terminal of its own, and answers its questions.

    python3 at-terminal.py '[["Number", "1\\r"]]' program argument ...

Each answer is typed when its question has been shown. Prints what the terminal showed, and ends as the command did.
"""
import json
import os
import pty
import sys

answers = json.loads(sys.argv[1])
child, terminal = pty.fork()
if child == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
shown = ""
read = 0
while True:
    try:
        data = os.read(terminal, 4096)
    except OSError:
        break
    if not data:
        break
    shown += data.decode()
    while answers and answers[0][0] in shown[read:]:
        question, answer = answers.pop(0)
        read = shown.index(question, read) + len(question)
        os.write(terminal, answer.encode())
_, status = os.waitpid(child, 0)
print(shown.replace("\r", ""))
sys.exit(os.waitstatus_to_exitcode(status))
