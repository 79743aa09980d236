-- People let in by pairing, who asks to be, and an audit that a stranger cannot fill.

CREATE TABLE pairing (
  platform TEXT NOT NULL,
  person   TEXT NOT NULL,
  name     TEXT NOT NULL,                 -- for display; never a right
  lane     TEXT NOT NULL,
  salt     BLOB NOT NULL,
  hash     BLOB NOT NULL,                 -- of the code, which is kept nowhere
  expires  REAL NOT NULL,
  PRIMARY KEY (platform, person)
) STRICT, WITHOUT ROWID;

CREATE TABLE paired (
  platform TEXT NOT NULL,
  person   TEXT NOT NULL,
  name     TEXT NOT NULL,
  role     TEXT NOT NULL CHECK (role IN ('owner', 'member')),
  since    REAL NOT NULL,
  actor    TEXT NOT NULL,
  PRIMARY KEY (platform, person)
) STRICT, WITHOUT ROWID;

ALTER TABLE audit ADD COLUMN platform TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN person TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN chat TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN times INTEGER NOT NULL DEFAULT 1;    -- how often, within a minute
ALTER TABLE audit ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;  -- a stranger's; only the newest stay
CREATE INDEX audit_refused ON audit (platform, person, what, at) WHERE refused = 1;

ALTER TABLE usage ADD COLUMN at REAL NOT NULL DEFAULT 0;
CREATE INDEX usage_by_session ON usage (session);
CREATE INDEX usage_by_time ON usage (at);
