-- The logs that consumers remember positions in. A log is known by its source,
-- since its name may come to mean another one: a topic that is deleted and
-- created again counts its offsets from 0. One source a topic is current.
CREATE TABLE @{_sources} (
  consumer   smallint    NOT NULL,
  source     uuid        NOT NULL,
  topic      text        NOT NULL,
  replaces   uuid,
  since      timestamptz NOT NULL DEFAULT now(),
  retired_at timestamptz,
  CONSTRAINT @{name:_sources_pkey} PRIMARY KEY (consumer, source)
);
CREATE UNIQUE INDEX @{name:_sources_current} ON @{_sources} (consumer, topic) WHERE retired_at IS NULL;
COMMENT ON TABLE @{_sources} IS 'logs that consumers remember positions in';
COMMENT ON COLUMN @{_sources}.replaces IS 'the source that the topic was known by before; partitions of this one begin at their start';
COMMENT ON COLUMN @{_sources}.retired_at IS 'since when the topic is known by another source';

-- One row a partition and consumer, updated in the transaction of each message's
-- effects. No index has the column that changes, and pages are kept half empty,
-- so that updates stay in their page and are cleaned up there (HOT).
CREATE TABLE @{_watermarks} (
  consumer smallint NOT NULL,
  source   uuid     NOT NULL,
  part     integer  NOT NULL,
  next_off bigint   NOT NULL,
  CONSTRAINT @{name:_watermarks_pkey} PRIMARY KEY (consumer, source, part),
  CONSTRAINT @{name:_watermarks_next} CHECK (next_off >= 0)
) WITH (fillfactor = 50);
COMMENT ON TABLE @{_watermarks} IS 'what took effect, as positions; a row that goes back lets messages run again';
COMMENT ON COLUMN @{_watermarks}.next_off IS 'every message before this offset took effect, or was passed over on purpose';

-- For people with psql.
CREATE VIEW @{_positions} AS
SELECT c.name AS consumer, s.topic, w.source, w.part AS partition, w.next_off AS next_offset,
  s.since, s.retired_at
FROM @{_watermarks} w JOIN @{_consumers} c ON c.id = w.consumer
LEFT JOIN @{_sources} s ON s.consumer = w.consumer AND s.source = w.source;
COMMENT ON VIEW @{_positions} IS 'watermarks with the names of consumers and topics, read-only';
