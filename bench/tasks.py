"""What people ask for in the delegation's measures, and what the models answer. Pure.

A person's words choose the kind of turn; the baseline makes the calls of such a turn by itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

ORDINARY = "How far are we?"
DELEGATED = "Have the words counted."
CHECKED = "Have the words counted, and the count checked."
BUILT = (
    "Please have somebody write the little word counter that we talked about, wordcount.py, and"
    " make sure that it was really run: I want to use it on the minutes of every meeting from"
    " tomorrow on."
)

Message: TypeAlias = dict[str, object]
Call: TypeAlias = tuple[str, Mapping[str, object]]

SHORT_TASK: Mapping[str, object] = {"goal": "Say how many words there are.", "model": "child"}
SHORT_CRITERIA = ("the answer says how many words there are",)
SHORT_ANSWER = "There are 42 words."
DONE = "Done."

LONG_GOAL = (
    "Write wordcount.py: a program that reads the text file named by its first argument and prints"
    " the ten most frequent words, one to a line, each with its count, the most frequent first;"
    " words of the same count in alphabetical order. Upper and lower case are one word, and"
    " punctuation is no part of a word. Run it on a text of your own and check what it prints."
)
LONG_CONTEXT = (
    "The minutes are plain UTF-8 text of a few hundred lines. Python 3 is installed and nothing"
    " else may be needed, so use the standard library alone. Without an argument, or with a file"
    " that is not there, it prints one line of help to standard error and ends with exit code 2."
    " Put it at the top of the workspace; no tests in a file of their own are wanted."
)
LONG_CRITERIA = (
    "wordcount.py was written and a receipt shows that it was run with exit code 0",
    "words of the same count come in alphabetical order",
    "the report names what was checked and what is left to do",
)
LONG_TASK: Mapping[str, object] = {
    "goal": LONG_GOAL,
    "context": LONG_CONTEXT,
    "model": "child",
    "acceptance_criteria": list(LONG_CRITERIA),
}
PROGRAM = '''\
"""Print the ten most frequent words of a text file."""

import re
import sys
from collections import Counter


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: wordcount.py FILE", file=sys.stderr)
        return 2
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            words = re.findall(r"\\w+", file.read().lower())
    except OSError as error:
        print(f"wordcount.py: {error}", file=sys.stderr)
        return 2
    counted = sorted(Counter(words).items(), key=lambda item: (-item[1], item[0]))
    for word, count in counted[:10]:
        print(f"{count:6d} {word}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''
TRY = (
    "printf 'The cat and the dog. A cat, a dog: and THE end.' > sample.txt"
    " && python3 wordcount.py sample.txt"
)
STEPS: Sequence[Call] = (
    ("write_file", {"path": "wordcount.py", "content": PROGRAM}),
    ("run", {"command": TRY}),
    ("read_file", {"path": "wordcount.py"}),
    ("run", {"command": "python3 wordcount.py nowhere.txt; test $? -eq 2 && echo as asked"}),
)
REPORT = (
    "wordcount.py is written and works. It reads the file that its argument names, takes every run"
    " of letters and digits as a word, whatever its case, and prints the ten most frequent ones"
    " with their counts, the most frequent first.\n\n"
    "Changed: wordcount.py (new, 25 lines, standard library alone); sample.txt (a text of mine to"
    " try it on).\n\n"
    "Checked: I ran it on sample.txt. It printed 3 the, 2 a, 2 and, 2 cat, 2 dog, 1 end, which is"
    " right by hand; the words that come twice stand in alphabetical order. With a file that is"
    " not there it prints one line to standard error and ends with exit code 2.\n\n"
    "Left: nothing of the task. Hyphenated words count as two, which the task leaves open;"
    " sample.txt can be deleted."
)
LONG_END = (
    "The word counter is there: wordcount.py prints the ten most frequent words of a text file. It"
    " was run on a small text and printed the right counts; an independent judge found all three"
    " points met. One thing to know: it counts a hyphenated word as two."
)


def answer(messages: Sequence[Message]) -> str | Call:
    """What the turn's own model says: it hands the task over, or reads the result."""
    last = messages[-1]
    asked = _text(next(m for m in reversed(messages) if m["role"] == "user"))
    if last["role"] == "tool":
        return LONG_END if BUILT in asked else DONE
    for words, task in _TASKS.items():
        if words in asked:
            return ("delegate_task", task)
    return DONE


_TASKS: Mapping[str, Mapping[str, object]] = {
    DELEGATED: SHORT_TASK,
    CHECKED: {**SHORT_TASK, "acceptance_criteria": list(SHORT_CRITERIA)},
    BUILT: LONG_TASK,
}


def work(messages: Sequence[Message]) -> str | Call:
    """What a child says next: the long task takes it some steps, the short one none."""
    if not any(LONG_GOAL in _text(message) for message in messages):
        return SHORT_ANSWER
    taken = sum(message["role"] == "tool" for message in messages)
    return STEPS[taken] if taken < len(STEPS) else REPORT


def judge(messages: Sequence[Message]) -> str:
    """What the acceptance judge says: all is met, each with a quote from what it was shown."""
    if LONG_GOAL not in _text(messages[-1]):
        return _verdict(("42 words", "The answer gives the number of words."))
    return _verdict(
        ("exit code 0", "The file was written, and the run after it ended with exit code 0."),
        ("2 a, 2 and, 2 cat, 2 dog", "The words that come twice are in alphabetical order."),
        ("Left: nothing of the task", "It says what was run and that nothing is left."),
    )


def _verdict(*found: tuple[str, str]) -> str:
    criteria = [
        {"n": n, "quote": quote, "why": why, "result": "pass"}
        for n, (quote, why) in enumerate(found, 1)
    ]
    reasoning = "The receipts bear out what the report claims, and every criterion is met."
    return json.dumps({"criteria": criteria, "reasoning": reasoning})


def bare_calls(text: str) -> list[tuple[str, list[Message]]]:
    """The model calls of such a turn with nothing round them, in order: the model's name and its
    messages."""
    said: Message = {"role": "user", "content": text}
    if text not in (DELEGATED, CHECKED):
        return [("main", [said])]
    handed: Message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "delegate_task", "arguments": json.dumps(_TASKS[text])},
            }
        ],
    }
    result: Message = {"role": "tool", "tool_call_id": "call_1", "content": SHORT_ANSWER}
    criteria = " ".join(SHORT_CRITERIA)
    looked = [("checker", [_user(f"{SHORT_ANSWER} {criteria}")])] if text == CHECKED else []
    return [
        ("main", [said]),
        ("child", [_user(str(SHORT_TASK["goal"]))]),
        *looked,
        ("main", [said, handed, result]),
    ]


def _user(content: str) -> Message:
    return {"role": "user", "content": content}


def _text(message: Message) -> str:
    return str(message.get("content") or "")
