-- The web chat has no memory but this file: its rows are kept, and read back by lane.

CREATE INDEX inbox_kept ON inbox (lane, seq) WHERE lane >= 'web|' AND lane < 'web}';
CREATE INDEX outbox_kept ON outbox (lane, id) WHERE lane >= 'web|' AND lane < 'web}';
