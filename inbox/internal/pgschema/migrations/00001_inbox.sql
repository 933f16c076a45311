-- The names of consumers, so that the inbox itself needs two bytes for them. A
-- number is never given away twice.
CREATE TABLE @{_consumers} (
  id   smallint GENERATED ALWAYS AS IDENTITY,
  name text NOT NULL,
  CONSTRAINT @{name:_consumers_pkey} PRIMARY KEY (id),
  CONSTRAINT @{name:_consumers_name_key} UNIQUE (name)
);
COMMENT ON TABLE @{_consumers} IS 'consumers of the inbox; rows must stay as long as the inbox has rows of theirs';

-- One row a message and consumer, written in the transaction of the message's
-- effects. It holds nothing but its key: every byte is paid for with each message
-- twice, in the table and in the index.
CREATE TABLE @{} (
  consumer smallint NOT NULL,
  id       uuid     NOT NULL,
  CONSTRAINT @{name:_pkey} PRIMARY KEY (consumer, id)
);
COMMENT ON TABLE @{} IS 'messages that took effect; a row that is deleted lets its message run again';
COMMENT ON COLUMN @{}.id IS 'the message id where it is a canonical UUID, else a UUIDv5 of it';

-- For people with psql. Ids of version 7 carry the time at which they were made.
CREATE VIEW @{_processed} AS
SELECT c.name AS consumer, i.id,
  CASE WHEN substr(i.id::text, 15, 1) = '7'
    THEN to_timestamp(('x' || left(replace(i.id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
  END AS id_made_at
FROM @{} i JOIN @{_consumers} c ON c.id = i.consumer;
COMMENT ON VIEW @{_processed} IS 'the inbox with the names of the consumers, read-only';
