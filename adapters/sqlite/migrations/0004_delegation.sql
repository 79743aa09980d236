-- The children of running turns; both tables are empty while no turn delegates.

CREATE TABLE delegation (
  id     INTEGER PRIMARY KEY,
  turn   INTEGER NOT NULL,
  path   TEXT NOT NULL,                 -- which call of the turn asked for it, see ChildRef
  brief  TEXT NOT NULL,                 -- what for, to whoever reads the file
  tries  INTEGER NOT NULL,              -- how often it was opened since its last new step
  kept   TEXT NOT NULL DEFAULT '',
  input  INTEGER NOT NULL DEFAULT 0,    -- its own model calls, summed; the books are in usage
  cached INTEGER NOT NULL DEFAULT 0,
  output INTEGER NOT NULL DEFAULT 0,
  cost   REAL NOT NULL DEFAULT 0,
  calls  INTEGER NOT NULL DEFAULT 0,
  began  REAL NOT NULL,
  UNIQUE (turn, path)
) STRICT;

CREATE TABLE delegation_step (
  delegation INTEGER NOT NULL,
  n          INTEGER NOT NULL,
  part       TEXT NOT NULL,             -- as in step
  state      TEXT NOT NULL CHECK (state IN ('started', 'done')),
  body       TEXT NOT NULL,
  PRIMARY KEY (delegation, n, part)
) STRICT, WITHOUT ROWID;
