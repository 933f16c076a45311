-- Attempts at messages whose handler is about to run, or has failed. Rows of
-- messages that were processed are deleted in bulk, later; one that is left over
-- does no harm.
CREATE TABLE @{_attempts} (
  consumer smallint    NOT NULL,
  id       uuid        NOT NULL,
  attempts integer     NOT NULL DEFAULT 1,
  first_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- [{"at", "error"}], the newest hundred; NULL where none has failed.
  errors   jsonb,
  CONSTRAINT @{name:_attempts_pkey} PRIMARY KEY (consumer, id)
);
COMMENT ON TABLE @{_attempts} IS 'attempts at messages, written outside the transactions of handlers';

-- Messages that wait for people, or behind one of their key that does. All that
-- comes from a producer is kept byte for byte, valid text or not.
CREATE TABLE @{_parked} (
  no         bigint      GENERATED ALWAYS AS IDENTITY,
  consumer   smallint    NOT NULL,
  -- parked: waits for people. redrive: is tried when next_at has come. wait: follows
  -- an earlier one of its key; without one, it is to be tried.
  state      text        NOT NULL CHECK (state IN ('parked', 'redrive', 'wait')),
  next_at    timestamptz CHECK ((next_at IS NOT NULL) = (state = 'redrive')),
  -- Attempts since it was redriven.
  tries      integer     NOT NULL DEFAULT 0,
  -- Attempts in all, and how they failed: [{"at", "error"}], the newest hundred.
  attempts   integer     NOT NULL DEFAULT 0,
  errors     jsonb       NOT NULL DEFAULT '[]',
  reason     text,
  first_at   timestamptz NOT NULL,
  last_at    timestamptz NOT NULL,
  parked_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  message_id bytea,
  topic      text        NOT NULL,
  -- A hash of topic and key, since a key may be longer than an index takes. NULL
  -- where the message has no order.
  key_hash   bigint,
  key        bytea       CHECK ((key IS NULL) = (key_hash IS NULL)),
  uuid       bytea       NOT NULL,
  payload    bytea       NOT NULL,
  -- {"name": "value"}, and what is no such text as [["name", "value"]] in base64.
  metadata   jsonb       NOT NULL,
  metadata_raw jsonb,
  CONSTRAINT @{name:_parked_pkey} PRIMARY KEY (no)
);
CREATE INDEX @{name:_parked_key_idx} ON @{_parked} (consumer, key_hash, no);
CREATE INDEX @{name:_parked_id_idx} ON @{_parked} (consumer, message_id);
CREATE INDEX @{name:_parked_next_idx} ON @{_parked} (consumer, next_at) WHERE state = 'redrive';
COMMENT ON TABLE @{_parked} IS 'messages that wait for people; a row that is deleted loses its message';

-- What is kept of messages beside their ids, where that was asked for.
CREATE TABLE @{_notes} (
  consumer    smallint    NOT NULL,
  id          uuid        NOT NULL,
  at          timestamptz NOT NULL DEFAULT now(),
  fingerprint bytea,
  reply       bytea,
  CONSTRAINT @{name:_notes_pkey} PRIMARY KEY (consumer, id)
);
COMMENT ON TABLE @{_notes} IS 'fingerprints and replies of processed messages';

-- Who did what to which parked message, and why. Rows are only ever added.
CREATE TABLE @{_audit} (
  no         bigint      GENERATED ALWAYS AS IDENTITY,
  at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- park and done by the inbox; redrive, skip_head and drop by people.
  action     text        NOT NULL,
  actor      text        NOT NULL,
  reason     text        NOT NULL,
  consumer   smallint    NOT NULL,
  parked_no  bigint      NOT NULL,
  message_id bytea,
  topic      text        NOT NULL,
  key        bytea,
  details    jsonb,
  CONSTRAINT @{name:_audit_pkey} PRIMARY KEY (no)
);
CREATE INDEX @{name:_audit_at_idx} ON @{_audit} (at);

-- For people with psql.
CREATE VIEW @{_parked_status} AS
SELECT c.name AS consumer, p.state, count(*) AS messages, count(DISTINCT p.key_hash) AS keys, min(p.parked_at) AS oldest
FROM @{_parked} p JOIN @{_consumers} c ON c.id = p.consumer
GROUP BY c.name, p.state;
COMMENT ON VIEW @{_parked_status} IS 'parked messages, counted, read-only';

COMMENT ON TABLE @{} IS 'messages that took effect, or were given up; a row that is deleted lets its message run again';
