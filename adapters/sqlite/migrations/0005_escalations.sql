-- Questions to people, and the turns that wait for their answers.

CREATE TABLE escalation (
  id      INTEGER PRIMARY KEY,
  lane    TEXT NOT NULL,                -- whose turn asked
  chat    TEXT NOT NULL,                -- platform|account|chat
  place   TEXT NOT NULL,                -- the chat and thread where it is asked; numbers count there
  number  INTEGER NOT NULL,
  session INTEGER NOT NULL,
  turn    INTEGER NOT NULL,             -- whose call waits; another one's once that was set aside
  call    TEXT NOT NULL,                -- that call of the turn's own agent
  key     TEXT NOT NULL,                -- which question of the turn, see core.escalations.desk
  state   TEXT NOT NULL CHECK (state IN ('pending_send', 'open', 'answered', 'expired', 'cancelled',
                                         'undeliverable', 'applied')),
  due     REAL,                         -- its next reminder, or its expiry
  decided REAL,
  body    TEXT NOT NULL,                -- the rest of it, as it was and is
  UNIQUE (place, number),
  UNIQUE (turn, key)
) STRICT;
CREATE INDEX escalation_by_chat ON escalation (chat, decided);
CREATE INDEX escalation_open ON escalation (session) WHERE state IN ('pending_send', 'open');
CREATE INDEX escalation_unapplied ON escalation (lane) WHERE state <> 'applied';
CREATE INDEX escalation_of_session ON escalation (session) WHERE state <> 'applied';
CREATE INDEX escalation_due ON escalation (due) WHERE due IS NOT NULL;

CREATE TABLE escalation_event (
  id         INTEGER PRIMARY KEY,
  escalation INTEGER NOT NULL,
  at         REAL NOT NULL,
  what       TEXT NOT NULL,
  who        TEXT NOT NULL,             -- a person as in inbox.principal, '' for the host
  detail     TEXT NOT NULL
) STRICT;
CREATE INDEX escalation_trail ON escalation_event (escalation, id);

CREATE TABLE escalation_token (
  hash       BLOB PRIMARY KEY,          -- of what a card's buttons carry
  escalation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE waiting_call (
  turn INTEGER NOT NULL,                -- one that was set aside, or that goes on with it
  call TEXT NOT NULL,
  body TEXT NOT NULL,                   -- the call
  PRIMARY KEY (turn, call)
) STRICT, WITHOUT ROWID;

CREATE INDEX turn_waiting ON turn (lane) WHERE phase IN ('parked', 'aside');

ALTER TABLE lane ADD COLUMN parked INTEGER;      -- the session's turn that waits for an answer
ALTER TABLE inbox ADD COLUMN of_turn INTEGER;    -- whose answer it is
CREATE INDEX inbox_answers ON inbox (of_turn) WHERE of_turn IS NOT NULL;
ALTER TABLE outbox ADD COLUMN escalation INTEGER;
ALTER TABLE outbox ADD COLUMN shows TEXT NOT NULL DEFAULT '';  -- card, reminder, decision (an edit), lost
CREATE INDEX outbox_asks ON outbox (escalation) WHERE escalation IS NOT NULL;
CREATE INDEX outbox_shown ON outbox (remote_id) WHERE escalation IS NOT NULL;
CREATE INDEX outbox_said ON outbox (lane, id) WHERE state = 'sent' AND shows <> 'decision';
