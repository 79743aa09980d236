"""The gateway under a service manager: ready, fed, stopped and started again in mid-turn."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from tests.e2e.gateway_process import gateway, written
from tests.fakes.openai_replies import text
from tests.fakes.service_manager import FakeServiceManager
from tests.scenarios.rig import OWNER, idle_bot


async def test_systemd_hears_ready_then_is_fed_then_hears_of_the_stop(tmp_path: Path) -> None:
    async with idle_bot(tmp_path) as bot, FakeServiceManager() as manager:
        config = written(bot, tmp_path / "c.yaml")
        told = {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "600000"}
        async with gateway(config, tmp_path / "d", **told) as up:
            ready = await manager.hear("READY")
            assert ready == {"READY": "1", "STATUS": "telegram up"}
            await manager.hear("WATCHDOG", times=3)
            assert manager.count("READY") == 1
            up.tell(signal.SIGTERM)
            await manager.hear("STOPPING")
            assert await up.ended() == 0


async def test_a_stop_lets_the_running_turn_end_and_its_answer_out(tmp_path: Path) -> None:
    async with idle_bot(tmp_path) as bot:
        bot.models.script("main", text("All of it.", gate="slow"))
        async with gateway(written(bot, tmp_path / "c.yaml"), tmp_path / "d") as up:
            bot.say("count to a million")
            await bot.asked(1)
            up.tell(signal.SIGTERM)
            await up.logged("stopping")
            bot.models.open("slow")
            assert await up.ended() == 0
        assert bot.said()[-1] == "All of it."


async def test_a_second_sigterm_ends_at_once_and_the_next_start_goes_on(tmp_path: Path) -> None:
    async with idle_bot(tmp_path) as bot:
        bot.models.script("main", text("never sent", gate="never"), text("At last."))
        config = written(bot, tmp_path / "c.yaml")
        async with gateway(config, tmp_path / "d") as up:
            bot.say("count to a million")
            await bot.asked(1)
            up.tell(signal.SIGTERM)
            await up.logged("stopping")
            up.tell(signal.SIGTERM)
            assert await up.ended(within_s=3) == 0
        async with gateway(config, tmp_path / "d") as up:
            await bot.heard("At last.")
            up.tell(signal.SIGTERM)
            assert await up.ended() == 0
        assert [said for said in bot.said() if "At last." in said] == ["At last."]


async def test_a_turn_that_does_not_end_is_parked_within_30_s(tmp_path: Path) -> None:
    async with idle_bot(tmp_path) as bot:
        bot.models.script("main", text("never sent", gate="never"), text("At last."))
        config = written(bot, tmp_path / "c.yaml")
        async with gateway(config, tmp_path / "d") as up:
            bot.say("count to a million")
            await bot.asked(1)
            started = asyncio.get_running_loop().time()
            up.tell(signal.SIGTERM)
            assert await up.ended() == 0
            assert asyncio.get_running_loop().time() - started < 30
        async with gateway(config, tmp_path / "d"):
            await bot.heard("At last.")


async def test_what_is_sent_while_it_stops_is_answered_once(tmp_path: Path) -> None:
    """By this run, when its last poll still brought it, else by the next."""
    async with idle_bot(tmp_path) as bot:
        bot.models.script("main", text("First.", gate="slow"), text("Second."))
        config = written(bot, tmp_path / "c.yaml")
        async with gateway(config, tmp_path / "d") as up:
            bot.say("one")
            await bot.asked(1)
            up.tell(signal.SIGTERM)
            await up.logged("stopping")
            bot.say("two")
            bot.models.open("slow")
            assert await up.ended() == 0
        async with gateway(config, tmp_path / "d"):
            assert await bot.heard("First.", "Second.") == ["First.", "Second."]


async def test_a_token_that_is_a_credential_starts_the_bot(tmp_path: Path) -> None:
    async with idle_bot(tmp_path) as bot, FakeServiceManager() as manager:
        config = written(bot, tmp_path / "c.yaml")
        lines = config.read_text().splitlines()
        config.write_text("\n".join(line for line in lines if "token:" not in line))
        folder = tmp_path / "credentials"
        folder.mkdir()
        (folder / "pursuit_platforms__telegram__token").write_text(f"{bot.people.token}\n")
        given = {"CREDENTIALS_DIRECTORY": str(folder), "NOTIFY_SOCKET": manager.address}
        async with gateway(config, tmp_path / "d", **given):
            assert (await manager.hear("READY"))["STATUS"] == "telegram up"


async def test_a_stranger_is_admitted_by_a_reload_and_goals_get_new_limits(
    tmp_path: Path,
) -> None:
    async with idle_bot(tmp_path) as bot, FakeServiceManager() as manager:
        bot.models.default("main", text("Welcome."))
        config = written(bot, tmp_path / "c.yaml", access={"telegram": {"owners": [1]}})
        async with gateway(config, tmp_path / "d", NOTIFY_SOCKET=manager.address) as up:
            await manager.hear("READY")
            bot.say("hello?")
            await up.logged("refused")
            listed = {"telegram": {"owners": [1, OWNER.id]}}
            written(bot, config, access=listed, goals={"max_turns": 3}, lanes={"collect": True})
            up.tell(signal.SIGHUP)
            line = await up.logged('"reloaded"')
            assert line["in_effect"] == ["access.telegram.owners", "goals.max_turns"]
            assert line["at_restart"] == ["lanes.collect"]
            await manager.hear("RELOADING")
            await manager.hear("READY", times=2)
            bot.say("and now?")
            await bot.heard("Welcome.")
            bot.models.script("main", text("Working.", gate="never"))
            bot.say("/goal count the stars")
            await bot.heard("/3")


async def test_an_edit_of_the_file_is_noticed_and_a_broken_one_keeps_the_old(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    async with idle_bot(tmp_path) as bot, FakeServiceManager() as manager:
        bot.models.default("main", text("Still here."))
        config = written(bot, folder / "c.yaml")
        async with gateway(config, tmp_path / "d", NOTIFY_SOCKET=manager.address) as up:
            await manager.hear("READY")
            sound = config.read_text()
            config.write_text(f"{sound}\naccess: {{telegram: {{owner: [1]}}}}\n")
            line = await up.logged('"reload_refused"')
            assert line["kept"] == "the old configuration"
            assert f"{config}:" in str(line["error"])
            bot.say("hello?")
            await bot.heard("Still here.")
            written(bot, config, logs={"level": "debug"})
            line = await up.logged('"reloaded"')
            assert line["in_effect"] == ["logs.level"]


async def test_an_emptied_file_locks_nobody_out(tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    async with idle_bot(tmp_path) as bot, FakeServiceManager() as manager:
        bot.models.default("main", text("Still here."))
        config = written(bot, folder / "c.yaml")
        async with gateway(config, tmp_path / "d", NOTIFY_SOCKET=manager.address) as up:
            await manager.hear("READY")
            config.write_text("")
            line = await up.logged('"reload_refused"')
            assert line["kept"] == "the old configuration"
            assert "access.telegram: nobody could talk to telegram any more" in str(line["error"])
            bot.say("hello?")
            await bot.heard("Still here.")
            written(bot, config, access={"telegram": {"owners": [], "pairing": True}})
            line = await up.logged('"reloaded"')
            assert line["in_effect"] == ["access.telegram.owners", "access.telegram.pairing"]
