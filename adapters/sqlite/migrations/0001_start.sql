-- One file, one process, one writer. Times are wall seconds; JSON columns hold what core encodes.

CREATE TABLE cursor (
  source TEXT PRIMARY KEY,
  pos    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
  id      INTEGER PRIMARY KEY,
  lane    TEXT NOT NULL,
  title   TEXT NOT NULL DEFAULT '',
  turns   INTEGER NOT NULL DEFAULT 0,
  entries INTEGER NOT NULL DEFAULT 0,   -- rows in message
  counted INTEGER NOT NULL DEFAULT 0,   -- tokens, by the provider's last count
  prefix  TEXT NOT NULL DEFAULT '',     -- system prompt and tools, fixed at its first turn
  created REAL NOT NULL
) STRICT;
CREATE INDEX session_by_lane ON session (lane, id);

-- No epoch guards a lane: the one writer reads, decides and writes it in one transaction.
CREATE TABLE lane (
  key      TEXT PRIMARY KEY,
  stop_seq INTEGER NOT NULL DEFAULT 0,
  session  INTEGER NOT NULL UNIQUE REFERENCES session (id),
  phase    TEXT NOT NULL DEFAULT 'idle' CHECK (phase IN ('idle', 'running', 'stopped', 'interrupted')),
  turn     INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX lane_by_turn ON lane (turn) WHERE turn IS NOT NULL;

CREATE TABLE message (
  session INTEGER NOT NULL,
  n       INTEGER NOT NULL,
  turn    INTEGER NOT NULL,
  body    TEXT NOT NULL,
  PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoint (
  session INTEGER NOT NULL,
  n       INTEGER NOT NULL,             -- entries before n read as the summary
  summary TEXT NOT NULL,
  PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE inbox (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  lane       TEXT NOT NULL,
  kind       TEXT NOT NULL,
  dedupe     TEXT NOT NULL UNIQUE,
  prio       INTEGER NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('ready', 'claimed', 'done', 'dropped')),
  not_before REAL NOT NULL DEFAULT 0,
  more       INTEGER NOT NULL DEFAULT 0,
  steer      INTEGER NOT NULL DEFAULT 0,
  target     INTEGER,
  goal       INTEGER,
  generation INTEGER,
  turn       INTEGER,
  principal  TEXT NOT NULL,
  payload    TEXT NOT NULL,
  received   REAL NOT NULL
) STRICT;
CREATE INDEX inbox_ready ON inbox (lane, prio, seq) WHERE state = 'ready';
CREATE INDEX inbox_claimed ON inbox (turn) WHERE state = 'claimed';
CREATE INDEX inbox_over ON inbox (received) WHERE state IN ('done', 'dropped');

CREATE TABLE turn (
  id        INTEGER PRIMARY KEY,
  lane      TEXT NOT NULL,
  session   INTEGER NOT NULL,
  kind      TEXT NOT NULL,
  principal TEXT NOT NULL,
  goal      INTEGER,
  phase     TEXT NOT NULL,
  attempt   INTEGER NOT NULL,
  tries     INTEGER NOT NULL,
  rows      TEXT NOT NULL,
  inputs    TEXT NOT NULL,
  answer    TEXT NOT NULL DEFAULT '',
  receipts  TEXT NOT NULL DEFAULT '[]',
  seconds   REAL NOT NULL DEFAULT 0,
  began     REAL NOT NULL
) STRICT;

CREATE TABLE step (
  turn  INTEGER NOT NULL,
  n     INTEGER NOT NULL,
  part  TEXT NOT NULL,                  -- reply, folded, said:K, call:ID
  state TEXT NOT NULL CHECK (state IN ('started', 'done')),
  body  TEXT NOT NULL,
  PRIMARY KEY (turn, n, part)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  lane      TEXT NOT NULL,
  turn_key  TEXT NOT NULL UNIQUE,
  turn      INTEGER,
  card      INTEGER NOT NULL DEFAULT 0,
  goal      INTEGER,                    -- whose status message a card is
  last_part INTEGER NOT NULL DEFAULT 1,
  body      TEXT NOT NULL,
  state     TEXT NOT NULL CHECK (state IN ('ready', 'sending', 'sent', 'dead')),
  attempts  INTEGER NOT NULL DEFAULT 0,
  doubtful  INTEGER NOT NULL DEFAULT 0,
  first_try REAL NOT NULL DEFAULT 0,
  remote_id TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX outbox_open ON outbox (lane, id) WHERE state IN ('ready', 'sending');

CREATE INDEX outbox_over ON outbox (first_try) WHERE state IN ('sent', 'dead') AND card = 0;
CREATE INDEX outbox_cards ON outbox (lane, goal, id) WHERE card = 1;

CREATE TABLE timer (
  lane       TEXT PRIMARY KEY,
  due        REAL NOT NULL,
  goal       INTEGER NOT NULL,
  generation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE state_meta (
  key     TEXT PRIMARY KEY,
  value   TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 1
) STRICT, WITHOUT ROWID;

CREATE TABLE usage (
  id       INTEGER PRIMARY KEY,
  session  INTEGER NOT NULL,
  goal     INTEGER,
  turn     INTEGER,
  purpose  TEXT NOT NULL,
  model    TEXT NOT NULL,
  state    TEXT NOT NULL CHECK (state IN ('reserved', 'settled')),
  input    INTEGER NOT NULL,
  cached   INTEGER NOT NULL,
  output   INTEGER NOT NULL,
  cost     REAL NOT NULL
) STRICT;
CREATE INDEX usage_by_goal ON usage (goal) WHERE goal IS NOT NULL;

CREATE TABLE audit (
  id     INTEGER PRIMARY KEY,
  at     REAL NOT NULL,
  lane   TEXT NOT NULL,
  what   TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT;
