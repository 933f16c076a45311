-- The names of consumers, so that the inbox itself needs two bytes for them. A number is never
-- assigned twice.
CREATE TABLE @{_consumers} (
  id   smallint GENERATED ALWAYS AS IDENTITY,
  name text NOT NULL,
  since timestamptz NOT NULL DEFAULT now(),
  ids   text,
  CONSTRAINT @{name:_consumers_pkey} PRIMARY KEY (id),
  CONSTRAINT @{name:_consumers_name_key} UNIQUE (name)
);
COMMENT ON TABLE @{_consumers} IS 'consumers of the inbox; rows must stay as long as the inbox has rows of theirs';
COMMENT ON COLUMN @{_consumers}.since IS 'when the first message came, or the consumer was registered';
COMMENT ON COLUMN @{_consumers}.ids IS 'where the ids come from that are remembered; NULL: not noted yet';

-- One row per message and consumer, written in the transaction of the message's effects. It
-- holds little but its key: every byte is paid for with each message twice, in the table and in
-- the index. When a row came, in minutes since 1970, is what ids that tell no time are
-- forgotten by: four bytes, which alignment has left over.
CREATE TABLE @{} (
  consumer smallint NOT NULL,
  id       uuid     NOT NULL,
  arrived  integer  NOT NULL DEFAULT (date_part('epoch', now()) / 60)::integer,
  CONSTRAINT @{name:_pkey} PRIMARY KEY (consumer, id)
);
COMMENT ON TABLE @{} IS 'messages that took effect, or were given up; a row that is deleted lets its message run again';
COMMENT ON COLUMN @{}.id IS 'the message id where it is a canonical UUID, else a UUIDv5 of it';
COMMENT ON COLUMN @{}.arrived IS 'when the row came, in minutes since 1970';

-- The inbox of ids of version 7, from the cut-over on. These tell the time at which they were
-- made, so the id alone decides which range it is in, and a range is forgotten as a whole by
-- dropping it. There is
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
  lowered integer NOT NULL DEFAULT 0,
  owner   text,
  lease_from  timestamptz NOT NULL DEFAULT '-infinity',
  lease_until timestamptz NOT NULL DEFAULT '-infinity',
  CONSTRAINT @{name:_retention_pkey} PRIMARY KEY (one),
  CONSTRAINT @{name:_retention_one} CHECK (one),
  CONSTRAINT @{name:_retention_mode} CHECK (mode IN ('off', 'pending', 'ranges', 'delete'))
);
INSERT INTO @{_retention} DEFAULT VALUES;
COMMENT ON COLUMN @{_retention}.mode IS 'off: all ids in the plain table; pending: being switched; ranges, delete: how version 7 ids are forgotten';
COMMENT ON COLUMN @{_retention}.cutover IS 'version 7 ids from here on are in the ranges; a constraint keeps them out of the plain table';
COMMENT ON COLUMN @{_retention}.floor IS 'version 7 ids below it may be forgotten; it is only lowered by leat inbox retention lower';
COMMENT ON COLUMN @{_retention}.lowered IS 'how often the floor was lowered; names of ranges that are made since end in it';
COMMENT ON COLUMN @{_retention}.legacy IS 'whether the plain table may still hold ids of version 7';
COMMENT ON COLUMN @{_retention}.width IS 'milliseconds that a new range covers';

-- For people with psql: the inbox with the names of consumers. Ids of version 7 carry the time at which they were made.
CREATE VIEW @{_processed} AS
SELECT c.name AS consumer, i.id,
  CASE WHEN substr(i.id::text, 15, 1) = '7'
    THEN to_timestamp(('x' || left(replace(i.id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
  END AS id_made_at
FROM (SELECT consumer, id FROM @{} UNION ALL SELECT consumer, id FROM @{_ranges}) i
JOIN @{_consumers} c ON c.id = i.consumer;
COMMENT ON VIEW @{_processed} IS 'the inbox with the names of the consumers, read-only';

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
  -- {"name": "value"}; what is not valid text as [["name", "value"]] in base64.
  metadata   jsonb       NOT NULL,
  metadata_raw jsonb,
  CONSTRAINT @{name:_parked_pkey} PRIMARY KEY (no)
);
CREATE INDEX @{name:_parked_key_idx} ON @{_parked} (consumer, key_hash, no);
-- A btree has no room for an id of some kilobytes, as producers may send: such a message
-- could be neither processed nor parked. A hash index keeps four bytes of each.
CREATE INDEX @{name:_parked_id_idx} ON @{_parked} USING hash (message_id);
CREATE INDEX @{name:_parked_next_idx} ON @{_parked} (consumer, next_at) WHERE state = 'redrive';
COMMENT ON TABLE @{_parked} IS 'messages that wait for people; a row that is deleted loses its message';

-- What is stored about messages in addition to their ids, if that is configured.
CREATE TABLE @{_notes} (
  consumer    smallint    NOT NULL,
  id          uuid        NOT NULL,
  at          timestamptz NOT NULL DEFAULT now(),
  fingerprint bytea,
  reply       bytea,
  CONSTRAINT @{name:_notes_pkey} PRIMARY KEY (consumer, id)
);
COMMENT ON TABLE @{_notes} IS 'fingerprints and replies of processed messages';

-- Who did what to which parked message or position, and why. Rows are only ever added.
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
COMMENT ON TABLE @{_audit} IS 'who did what to parked messages and to positions, and why; rows are only ever added';
COMMENT ON COLUMN @{_audit}.parked_no IS 'the parked message; 0 where the row is about a position';

-- For people with psql: parked messages, counted.
CREATE VIEW @{_parked_status} AS
SELECT c.name AS consumer, p.state, count(*) AS messages, count(DISTINCT p.key_hash) AS keys, min(p.parked_at) AS oldest
FROM @{_parked} p JOIN @{_consumers} c ON c.id = p.consumer
GROUP BY c.name, p.state;
COMMENT ON VIEW @{_parked_status} IS 'parked messages, counted, read-only';

-- The logs that consumers remember positions in. A log is known by its source,
-- since its name may come to mean another one: a topic that is deleted and created again counts
-- its offsets from 0. One source per topic is current.
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

-- One row per partition and consumer, updated in the transaction of each message's effects. No
-- index has the column that changes, and pages are kept half empty, so that updates stay in
-- their page and are cleaned up there (HOT).
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

-- For people with psql: watermarks with the names of consumers and topics.
CREATE VIEW @{_positions} AS
SELECT c.name AS consumer, s.topic, w.source, w.part AS partition, w.next_off AS next_offset,
  s.since, s.retired_at
FROM @{_watermarks} w JOIN @{_consumers} c ON c.id = w.consumer
LEFT JOIN @{_sources} s ON s.consumer = w.consumer AND s.source = w.source;
COMMENT ON VIEW @{_positions} IS 'watermarks with the names of consumers and topics, read-only';

-- How far consumer groups that read from a broker have come: below its mark every message of a
-- partition was acknowledged. A mark is moved before the group's offset is committed to the
-- broker, so that an offset beyond it shows that this database went back.
CREATE TABLE @{_marks} (
  consumer_group text        NOT NULL,
  topic          text        NOT NULL,
  source         text        NOT NULL,
  part           integer     NOT NULL,
  next_off       bigint      NOT NULL,
  token          text        NOT NULL,
  at             timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT @{name:_marks_pkey} PRIMARY KEY (consumer_group, topic, source, part)
) WITH (fillfactor = 50);
COMMENT ON TABLE @{_marks} IS 'how far consumer groups have come; a row that is deleted or goes back lets messages be delivered again';
COMMENT ON COLUMN @{_marks}.source IS 'the id of the topic: one that is made again is another one';
COMMENT ON COLUMN @{_marks}.token IS 'of the commit that wrote the row';

-- The claim in SQL, for services in other languages: inside the transaction of the
-- message's effects, with the lock and the row of the library, so that consumers of both
-- kinds can share a name.
--
-- The functions that a caller names run with the rights of the role that migrated, so
-- that the caller needs USAGE of the schema and EXECUTE of the function, and no right to
-- a table. Nobody has EXECUTE until it is granted. They alone set the search path: a
-- function that sets it is slow to call, and those below are called by them.
-- See design 12.10.

-- SHA-1, which PostgreSQL has in an extension only: ids that are not UUID are hashed by it.
CREATE FUNCTION @{_sha1}(data bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $leat$
DECLARE
    low32 CONSTANT bigint := 4294967295;
    padded bytea := data || decode('80', 'hex') || decode(repeat('00', (119 - octet_length(data) % 64) % 64), 'hex')
                         || int8send(octet_length(data)::bigint * 8);
    h0 bigint := 1732584193; h1 bigint := 4023233417; h2 bigint := 2562383102; h3 bigint := 271733878; h4 bigint := 3285377520;
    a bigint; b bigint; c bigint; d bigint; e bigint; t bigint;
    w bigint[];
BEGIN
    FOR start IN 0 .. octet_length(padded) - 64 BY 64 LOOP
        FOR i IN 0 .. 15 LOOP
            w[i] := ('x' || encode(substr(padded, start + i * 4 + 1, 4), 'hex'))::bit(32)::bigint & low32;
        END LOOP;
        FOR i IN 16 .. 79 LOOP
            t := ((w[i - 3] # w[i - 8]) # w[i - 14]) # w[i - 16];
            w[i] := ((t << 1) & low32) | (t >> 31);
        END LOOP;
        a := h0; b := h1; c := h2; d := h3; e := h4;
        FOR i IN 0 .. 79 LOOP
            t := e + w[i] + (((a << 5) & low32) | (a >> 27))
                + CASE WHEN i < 20 THEN ((b & c) | ((low32 # b) & d)) + 1518500249
                       WHEN i < 40 THEN ((b # c) # d) + 1859775393
                       WHEN i < 60 THEN (((b & c) | (b & d)) | (c & d)) + 2400959708
                       ELSE ((b # c) # d) + 3395469782 END;
            e := d; d := c; c := ((b << 30) & low32) | (b >> 2); b := a; a := t & low32;
        END LOOP;
        h0 := (h0 + a) & low32; h1 := (h1 + b) & low32; h2 := (h2 + c) & low32; h3 := (h3 + d) & low32; h4 := (h4 + e) & low32;
    END LOOP;
    RETURN substr(int8send(h0), 5) || substr(int8send(h1), 5) || substr(int8send(h2), 5)
        || substr(int8send(h3), 5) || substr(int8send(h4), 5);
END
$leat$;

-- The stored form of an id: a canonical UUID as it is, any other text as the UUIDv5 of it in
-- leat's namespace.
CREATE FUNCTION @{_stored_id}(id text) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $leat$
DECLARE
    sum bytea;
BEGIN
    IF id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' THEN
        RETURN id::uuid;
    END IF;
    sum := substr(@{_sha1}(decode('6c6561742d676f8e9d1c5f427a0b33d1', 'hex') || convert_to(id, 'UTF8')), 1, 16);
    sum := set_byte(sum, 6, (get_byte(sum, 6) & 15) | 80);
    sum := set_byte(sum, 8, (get_byte(sum, 8) & 63) | 128);
    RETURN encode(sum, 'hex')::uuid;
END
$leat$;

-- The advisory lock of parts: 64-bit FNV-1a over each part with its length in front, in two
-- halves, since a product of 64 bits would overflow. The prime is 2^40 + 435.
CREATE FUNCTION @{_lock}(VARIADIC parts bytea[]) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $leat$
DECLARE
    low32 CONSTANT bigint := 4294967295;
    hi bigint := 3421674724;
    lo bigint := 2216829733;
    part bytea;
    n int;
BEGIN
    FOREACH part IN ARRAY parts LOOP
        n := octet_length(part);
        part := decode(lpad(to_hex(n & 255), 2, '0') || lpad(to_hex((n >> 8) & 255), 2, '0')
            || lpad(to_hex((n >> 16) & 255), 2, '0') || lpad(to_hex(n >> 24), 2, '0') || '00000000', 'hex') || part;
        FOR i IN 0 .. n + 7 LOOP
            lo := lo # get_byte(part, i);
            hi := (hi * 435 + ((lo * 435) >> 32) + ((lo & 16777215) << 8)) & low32;
            lo := (lo * 435) & low32;
        END LOOP;
    END LOOP;
    RETURN (hi << 32) | lo;
END
$leat$;

-- Registers a consumer, once and in a transaction of its own, and returns its number. A
-- misspelt consumer would remember nothing that the right one did, so claims register no
-- consumer. A number that was drawn in a transaction that rolled back is not lost: otherwise a
-- role that has EXECUTE alone could use up all of them, and no consumer could be registered any
-- more. The number is the one after the highest or, if none is left there, a free one.
CREATE FUNCTION @{_register}(consumer text) RETURNS smallint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $leat$
DECLARE
    number smallint;
    free int;
BEGIN
    IF coalesce(consumer, '') = '' OR octet_length(consumer) > 255 THEN
        RAISE EXCEPTION 'leat: consumer % must have 1 to 255 bytes', coalesce(quote_literal(left(consumer, 64)), 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(@{_lock}('inbox consumers', convert_to(@{text:}, 'UTF8')));
    SELECT c.id INTO number FROM @{_consumers} c WHERE c.name = consumer;
    IF number IS NULL THEN
        SELECT coalesce(max(c.id), 0)::int + 1 INTO free FROM @{_consumers} c;
        IF free > 32767 THEN
            SELECT min(g) INTO free FROM generate_series(1, 32767) AS g
            WHERE NOT EXISTS (SELECT FROM @{_consumers} c WHERE c.id = g);
        END IF;
        IF free IS NULL THEN
            RAISE EXCEPTION 'leat: the inbox has 32767 consumers, which is the most it can have'
                USING ERRCODE = 'sequence_generator_limit_exceeded';
        END IF;
        INSERT INTO @{_consumers} (id, name) OVERRIDING SYSTEM VALUE VALUES (free, consumer) RETURNING id INTO number;
    END IF;
    RETURN number;
END
$leat$;
COMMENT ON FUNCTION @{_register}(text) IS 'registers a consumer of the inbox, in a transaction of its own; again it changes nothing';

-- Claims the message id for consumer in this transaction: 'claimed' if its effects may be
-- written and committed with it, 'duplicate' if they were committed before, 'busy' if another
-- transaction is processing it, and its outcome is unknown: roll back, and have it delivered
-- again. It never waits for another's handler (rule B3; claim.sql has the reasons). A second
-- claim of an id in one transaction is a duplicate of the first.
CREATE FUNCTION @{_claim}(consumer text, id text) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $leat$
DECLARE
    number smallint;
    stored uuid;
    raw bytea;
    lock bigint;
    state record;
    ranged boolean;
    done boolean;
    inserted int := 0;
BEGIN
    IF coalesce(id, '') = '' OR octet_length(id) > 65536 THEN
        RAISE EXCEPTION 'leat: id % must have 1 to 65536 bytes', coalesce(quote_literal(left(id, 64)), 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        RAISE EXCEPTION 'leat: synchronous_commit is off, so that acknowledged effects could be lost'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    SELECT c.id INTO number FROM @{_consumers} c WHERE c.name = consumer;
    IF number IS NULL THEN
        RAISE EXCEPTION 'leat: the inbox knows no consumer %', coalesce(quote_literal(left(consumer, 64)), 'NULL')
            USING ERRCODE = 'undefined_object', HINT = 'Register it once, in a transaction of its own.';
    END IF;
    IF EXISTS (SELECT FROM @{_sources} s WHERE s.consumer = number) THEN
        RAISE EXCEPTION 'leat: the consumer % is used with an inbox of positions', quote_literal(left(consumer, 64))
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    stored := @{_stored_id}(id);
    raw := uuid_send(stored);
    lock := @{_lock}('inbox', convert_to(@{text:}, 'UTF8'), convert_to(consumer, 'UTF8'), raw);
    SELECT r.mode, r.floor, r.cutover INTO STRICT state FROM @{_retention} r;
    ranged := state.mode IN ('ranges', 'delete') AND get_byte(raw, 6) >> 4 = 7 AND get_byte(raw, 8) >> 6 = 2
        AND stored >= state.cutover;
    IF NOT ranged THEN
        INSERT INTO @{} AS i (consumer, id)
        SELECT number, stored WHERE pg_try_advisory_xact_lock(lock)
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS inserted = ROW_COUNT;
    ELSIF stored >= state.floor THEN
        INSERT INTO @{_ranges} AS i (consumer, id)
        SELECT number, stored
        WHERE (state.mode = 'ranges' OR stored >= (SELECT r.floor FROM @{_retention} r)) AND pg_try_advisory_xact_lock(lock)
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS inserted = ROW_COUNT;
    END IF;
    IF inserted = 1 THEN
        RETURN 'claimed';
    END IF;
    IF NOT ranged THEN
        SELECT EXISTS (SELECT FROM @{} i WHERE i.consumer = number AND i.id = stored) INTO done;
    ELSE -- with its values in the text, or a plan for all values would lock all ranges
        EXECUTE 'SELECT EXISTS (SELECT FROM ' || @{text:_ranges} || ' i WHERE i.consumer = ' || number
            || ' AND i.id = ' || quote_literal(stored) || ')' INTO done;
        SELECT r.floor INTO STRICT state.floor FROM @{_retention} r;
        IF NOT done AND stored < state.floor THEN
            RAISE EXCEPTION 'leat: message % is older than what the inbox remembers', quote_literal(left(id, 64))
                USING ERRCODE = 'object_not_in_prerequisite_state';
        END IF;
    END IF;
    RETURN CASE WHEN done THEN 'duplicate' ELSE 'busy' END;
END
$leat$;
COMMENT ON FUNCTION @{_claim}(text, text)
    IS 'claims a message in this transaction: claimed, duplicate (acknowledge it) or busy (roll back, have it delivered again)';

REVOKE ALL ON FUNCTION @{_sha1}(bytea), @{_stored_id}(text), @{_lock}(bytea[]), @{_register}(text), @{_claim}(text, text) FROM PUBLIC;
