"""The text of the unit files. Pure; `systemd/` in the repository holds what this says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MARK = "# Written by `pursuit service install`; change it in a drop-in (systemctl edit pursuit)."
NAME = "pursuit.service"
DROP_IN = Path("pursuit.service.d", "sandbox.conf")
PROGRAM = Path("/opt/pursuit/bin/pursuit")
CONFIG = Path("/etc/pursuit/config.yaml")
CREDENTIALS = Path("/etc/pursuit/credentials")
ENVIRONMENT = Path(".config", "pursuit", "env")
"""Below a user's home: the variables of their own service."""
LIKE_SERVICE = (
    "systemd-run --pipe --wait --collect --quiet "
    f"-p User=pursuit -p LoadCredential=pursuit:{CREDENTIALS}"
)
"""Runs a command as the service's user, with credentials whose files that user cannot read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What the unit starts. The paths are absolute; without `data` it is the user's own."""

    program: Path = PROGRAM
    config: Path = CONFIG
    data: Path | None = None


_LIFE = """\
Type=notify
NotifyAccess=main
ExecStart={start}
ExecReload=/bin/kill -HUP $MAINPID
# The embedded model may have to be fetched before the service is ready.
TimeoutStartSec=30min
# Fed only while the chat platforms are heard. SIGTERM: running turns may end first.
WatchdogSec=120
WatchdogSignal=SIGTERM
# Turns get 30 s to end; what is not done by then goes on at the next start.
TimeoutStopSec=45
# The stop is the main process's own business: a command that an agent runs is not cut off first.
KillMode=mixed
Restart=on-failure
RestartSec=5
# 2 wrong use, 77 permission, 78 configuration: a person has to act.
RestartPreventExitStatus=2 77 78
LimitNOFILE=65536
UMask=0077
"""

_SYSTEM = """\
{mark}
[Unit]
Description=Pursuit, a chat bot that works on goals
After=network-online.target nss-lookup.target time-sync.target
Wants=network-online.target
StartLimitIntervalSec=10min
StartLimitBurst=20

[Service]
{life}
User=pursuit
Group=pursuit
# Data in /var/lib/pursuit, the embedded model in /var/cache/pursuit.
StateDirectory=pursuit
StateDirectoryMode=0700
CacheDirectory=pursuit
CacheDirectoryMode=0700
ConfigurationDirectory=pursuit
WorkingDirectory=/var/lib/pursuit
Environment=HOME=/var/lib/pursuit XDG_STATE_HOME=/var/lib XDG_CACHE_HOME=/var/cache
Environment=XDG_CONFIG_HOME=/etc PYTHONUNBUFFERED=1
# Each file there is a setting: platforms__telegram__token is platforms.telegram.token.
LoadCredential=pursuit:{credentials}

# Strict: `systemd-analyze security` gives 1.2. It forbids namespaces, which bubblewrap needs to
# run an agent's commands; the drop-in sandbox.conf allows them.
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
SecureBits=noroot-locked
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateUsers=yes
PrivateIPC=yes
DevicePolicy=closed
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProcSubset=pid
RemoveIPC=yes
KeyringMode=private
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"""

_USER = """\
{mark}
[Unit]
Description=Pursuit, a chat bot that works on goals
StartLimitIntervalSec=10min
StartLimitBurst=20

[Service]
{life}
Environment=PYTHONUNBUFFERED=1
# What the configuration takes from the environment, a line each: TELEGRAM_BOT_TOKEN=...
EnvironmentFile=-%h/{environment}
# What a user's own manager can forbid without forbidding the agent's sandbox.
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
SystemCallArchitectures=native

[Install]
WantedBy=default.target
"""

SANDBOX = f"""\
{MARK}
# Lets bubblewrap run an agent's commands: `systemd-analyze security` gives 2.8 with it. The
# commands themselves see much less than the service does.
[Service]
RestrictNamespaces=
RestrictNamespaces=cgroup ipc net mnt pid user uts
# It names its host, mounts a /proc of its own (which the kernel allows only where the outer one
# is whole) and switches its loopback on.
ProtectHostname=no
ProtectKernelLogs=no
ProtectKernelTunables=no
ProcSubset=all
RestrictAddressFamilies=AF_NETLINK
SystemCallFilter=@mount @chown @resources capset sethostname
# Compilers at run time, such as those of JavaScript and Java.
MemoryDenyWriteExecute=no
"""

SYSUSERS = """\
# The user that pursuit.service runs as; `systemd-sysusers` makes it.
u pursuit - "Pursuit" /var/lib/pursuit
"""


def system_unit(start: Start) -> str:
    """The unit for a machine."""
    return _SYSTEM.format(mark=MARK, life=_life(start), credentials=CREDENTIALS)


def user_unit(start: Start) -> str:
    """The unit for a user's own service manager."""
    return _USER.format(mark=MARK, life=_life(start), environment=ENVIRONMENT)


def _life(start: Start) -> str:
    words = [str(start.program), "up", "--config", str(start.config)]
    words += ["--data", str(start.data)] if start.data else []
    return _LIFE.format(start=" ".join(map(_quoted, words))).rstrip("\n")


def _quoted(word: str) -> str:
    """A word as systemd reads it back: specifiers and variables off, blanks kept."""
    plain = word.replace("%", "%%").replace("$", "$$")
    if plain.isprintable() and not set(plain) & set(" \"'\\;"):
        return plain
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
