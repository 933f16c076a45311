-- When a row came, in minutes since 1970: what ids that tell no time are forgotten
-- by. Four bytes, which alignment has left over: the row grows by nothing.
ALTER TABLE @{} ADD COLUMN arrived integer NOT NULL DEFAULT (date_part('epoch', now()) / 60)::integer;
COMMENT ON COLUMN @{}.arrived IS 'minutes since 1970; of rows older than this column, when it was added';

-- Ids of version 7 tell the time at which they were made, so the id alone decides
-- which range it is in, and a range is forgotten as a whole by dropping it. There is
-- no DEFAULT partition on purpose: after a drop it would take in the ids of
-- redelivered messages, which would run again.
CREATE TABLE @{_ranges} (
  consumer smallint NOT NULL,
  id       uuid     NOT NULL,
  CONSTRAINT @{name:_ranges_pkey} PRIMARY KEY (consumer, id)
) PARTITION BY RANGE (id);
COMMENT ON TABLE @{_ranges} IS 'the inbox of version 7 ids from the cut-over on; never attach a DEFAULT partition';

-- One row: where ids live, and what is forgotten.
CREATE TABLE @{_retention} (
  one     boolean NOT NULL DEFAULT true,
  mode    text    NOT NULL DEFAULT 'off',
  cutover uuid,
  floor   uuid    NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  legacy  boolean NOT NULL DEFAULT false,
  width   bigint  NOT NULL DEFAULT 86400000,
  owner   text,
  lease_until timestamptz NOT NULL DEFAULT '-infinity',
  CONSTRAINT @{name:_retention_pkey} PRIMARY KEY (one),
  CONSTRAINT @{name:_retention_one} CHECK (one),
  CONSTRAINT @{name:_retention_mode} CHECK (mode IN ('off', 'pending', 'ranges', 'delete'))
);
INSERT INTO @{_retention} DEFAULT VALUES;
COMMENT ON COLUMN @{_retention}.mode IS 'off: all ids in the plain table; pending: being switched; ranges, delete: how version 7 ids are forgotten';
COMMENT ON COLUMN @{_retention}.cutover IS 'version 7 ids from here on are in the ranges; a constraint keeps them out of the plain table';
COMMENT ON COLUMN @{_retention}.floor IS 'version 7 ids below it may be forgotten; it must never be lowered';
COMMENT ON COLUMN @{_retention}.legacy IS 'whether the plain table may still hold ids of version 7';
COMMENT ON COLUMN @{_retention}.width IS 'milliseconds that a new range covers';

CREATE OR REPLACE VIEW @{_processed} AS
SELECT c.name AS consumer, i.id,
  CASE WHEN substr(i.id::text, 15, 1) = '7'
    THEN to_timestamp(('x' || left(replace(i.id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
  END AS id_made_at
FROM (SELECT consumer, id FROM @{} UNION ALL SELECT consumer, id FROM @{_ranges}) i
JOIN @{_consumers} c ON c.id = i.consumer;
