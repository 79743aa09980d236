-- What the gates of answers found.

CREATE TABLE gate_pass (
  folder   TEXT NOT NULL,               -- where the commands passed, and nothing was begun since
  commands TEXT NOT NULL,               -- in JSON
  PRIMARY KEY (folder, commands)
) STRICT, WITHOUT ROWID;

ALTER TABLE turn ADD COLUMN gates TEXT NOT NULL DEFAULT '[]';  -- what they did, the latest last
CREATE INDEX turn_by_lane ON turn (lane, id);
