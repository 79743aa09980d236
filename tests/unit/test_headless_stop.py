"""A headless run is ended once, in order; its streams outlive their readers."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import threading

from gateway.headless.stop import Stop
from gateway.headless.streams import outliving


async def test_a_block_is_left_when_the_end_is_asked_for() -> None:
    stop = Stop()
    after: list[str] = []
    async with stop.ends():
        stop.ask()
        await asyncio.Event().wait()
    after.append("left")
    stop.ask()
    assert after == ["left"]


async def test_a_block_that_is_entered_too_late_is_left_at_once() -> None:
    stop = Stop()
    stop.ask()
    async with stop.ends():
        await asyncio.Event().wait()


async def test_of_blocks_inside_one_another_the_inner_one_alone_is_left() -> None:
    stop = Stop()
    seen: list[str] = []
    async with stop.ends():
        async with stop.ends():
            stop.ask()
            await asyncio.Event().wait()
        stop.ask()
        await asyncio.to_thread(seen.append, "the outer one ends by itself")
    assert seen == ["the outer one ends by itself"]


async def test_an_errand_that_ends_by_itself_is_not_disturbed() -> None:
    stop = Stop()
    async with stop.ends():
        pass
    stop.ask()
    await asyncio.to_thread(lambda: None)


async def test_each_signal_asks_for_the_end() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        stop = Stop()
        async with stop.ends():
            os.kill(os.getpid(), number)
            await asyncio.Event().wait()


def test_a_stream_without_a_reader_takes_all_and_says_so_once() -> None:
    near, far = os.pipe()
    os.close(near)
    failed: list[OSError] = []
    with os.fdopen(far, "w", encoding="utf-8") as stream:
        out = outliving(stream, failed.append)
        for _ in range(3):
            out.write("a line\n")
            out.flush()
        out.close()
    assert [type(error) for error in failed] == [BrokenPipeError]


def test_a_stream_that_does_not_block_still_gets_all_of_a_long_text() -> None:
    near, far = os.pipe()
    fcntl.fcntl(far, fcntl.F_SETFL, os.O_NONBLOCK)
    long = "x" * (1 << 20) + "\n"
    read: list[str] = []
    with os.fdopen(near, encoding="utf-8") as reader:
        thread = threading.Thread(target=lambda: read.append(reader.read()))
        thread.start()
        with os.fdopen(far, "w", encoding="utf-8") as stream:
            outliving(stream).write(long)
        thread.join()
    assert read == [long]


def test_what_a_streams_encoding_lacks_is_escaped() -> None:
    near, far = os.pipe()
    with os.fdopen(far, "w", encoding="latin-1") as stream:
        outliving(stream).write("é ✓\n")
    with os.fdopen(near, "rb") as reader:
        assert reader.read() == "é \\u2713\n".encode("latin-1")


def test_a_stream_outlives_its_own_stand_in() -> None:
    near, far = os.pipe()
    with os.fdopen(far, "w", encoding="utf-8") as stream:
        outliving(stream).close()
        stream.write("still here")
    with os.fdopen(near, encoding="utf-8") as reader:
        assert reader.read() == "still here"
