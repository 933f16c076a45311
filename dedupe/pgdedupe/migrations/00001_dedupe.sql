-- One row per message and consumer. Expired rows count as absent; Prune removes them.
CREATE TABLE @{} (
  consumer    text        NOT NULL,
  id          bytea       NOT NULL, -- the bytes of the text: ids may hold a NUL
  -- p: being processed, f: released undone, d: done.
  state       "char"      NOT NULL CHECK (state IN ('p', 'f', 'd')),
  token       text        NOT NULL,
  attempt     integer     NOT NULL,
  took_over   boolean     NOT NULL DEFAULT false, -- taken over from a process whose lease ran out
  fingerprint text        NOT NULL,
  lease       bigint      NOT NULL DEFAULT 0, -- in µs: what has more left was given by a clock that was ahead
  lease_until timestamptz NOT NULL,
  expires_at  timestamptz NOT NULL,
  result      bytea,
  CONSTRAINT @{name:_pkey} PRIMARY KEY (consumer, id)
) WITH (fillfactor = 70);
COMMENT ON TABLE @{} IS 'messages that are being processed or were; a row that is deleted lets its message run again';
CREATE INDEX @{name:_expires_at_idx} ON @{} (expires_at);
