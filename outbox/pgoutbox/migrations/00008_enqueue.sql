-- Enqueue in SQL, for services in other languages, for triggers and psql: inside the
-- caller's transaction, with the locks, the shards and the refusals of the library.
--
-- The functions that a caller names run with the rights of the role that migrated, so
-- that the caller needs USAGE of the schema and EXECUTE of the function, and no right to
-- a table. Nobody has EXECUTE until it is granted. They alone set the search path: a
-- function that sets it is slow to call, and those below are called by them.
-- See design 3.7.

-- SHA-1, which PostgreSQL has in an extension only: ids that are no UUID are hashed by it.
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

-- The shard of a key: 32-bit FNV-1a modulo 64. Its lowest six bits need the lowest six only.
CREATE FUNCTION @{_shard}(key bytea) RETURNS smallint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $leat$
DECLARE
    sum int := 2166136261 % 64;
BEGIN
    FOR i IN 0 .. octet_length(key) - 1 LOOP
        sum := ((sum # get_byte(key, i)) * (16777619 % 64)) & 63;
    END LOOP;
    RETURN sum;
END
$leat$;

-- A new id: a UUID of version 7, by the database's clock.
CREATE FUNCTION @{_new_id}() RETURNS text
LANGUAGE sql VOLATILE AS $leat$
    SELECT encode(set_byte(r, 6, (get_byte(r, 6) & 15) | 112), 'hex')::uuid::text
    FROM (SELECT substr(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 3)
                 || substr(uuid_send(gen_random_uuid()), 7)) AS made(r)
$leat$;

-- Refuses what could not be stored and sent as it is.
CREATE FUNCTION @{_refuse}(topic text, payload bytea, key text, type text, id text, headers jsonb,
    occurred_at timestamptz, not_before timestamptz) RETURNS void
LANGUAGE plpgsql STABLE AS $leat$
DECLARE
    field text;
    value text;
    reason text;
    total int := 0;
    one record;
BEGIN
    IF octet_length(topic) BETWEEN 1 AND 255 AND octet_length(payload) <= 983040 AND headers IS NULL
        AND (key IS NULL OR octet_length(key) <= 4096) AND (type IS NULL OR octet_length(type) <= 512)
        AND (id IS NULL OR octet_length(id) <= 512) AND occurred_at IS NULL AND not_before IS NULL THEN
        RETURN; -- as most are
    END IF;
    SELECT f.field, f.value, f.reason INTO field, value, reason FROM (VALUES
        ('topic', topic, CASE WHEN coalesce(topic, '') = '' THEN 'must not be empty'
                              WHEN octet_length(topic) > 255 THEN 'is longer than 255 bytes' END),
        ('id', id, CASE WHEN octet_length(id) > 512 THEN 'is longer than 512 bytes' END),
        ('key', key, CASE WHEN octet_length(key) > 4096 THEN 'is longer than 4096 bytes' END),
        ('type', type, CASE WHEN octet_length(type) > 512 THEN 'is longer than 512 bytes' END),
        ('payload', octet_length(payload) || ' bytes',
            CASE WHEN payload IS NULL THEN 'must not be NULL'
                 WHEN octet_length(payload) > 983040 THEN 'is larger than 983040 bytes' END),
        ('headers', left(headers::text, 64), CASE WHEN jsonb_typeof(headers) NOT IN ('object', 'null') THEN 'must be an object of texts' END),
        ('occurred_at', occurred_at::text, CASE WHEN NOT @{_in_calendar}(occurred_at) THEN 'must lie in the years 1 to 9999, in UTC' END),
        ('not_before', not_before::text, CASE WHEN NOT @{_in_calendar}(not_before) THEN 'must lie in the years 1 to 9999, in UTC' END)
    ) AS f(field, value, reason) WHERE f.reason IS NOT NULL LIMIT 1;
    IF reason IS NULL AND jsonb_typeof(headers) = 'object' THEN
        FOR one IN SELECT h.key AS name, h.value AS content FROM jsonb_each(headers) h LOOP
            field := 'headers[' || quote_ident(left(one.name, 64)) || ']';
            value := left(one.content::text, 64);
            total := total + octet_length(one.name) + octet_length(one.content #>> '{}');
            reason := CASE
                WHEN one.name = '' THEN 'has an empty name'
                WHEN jsonb_typeof(one.content) <> 'string' THEN 'must be a text'
                WHEN one.name IN ('event-id', 'event-type', 'event-time', 'leat_key', 'leat_not_before', '_watermill_message_uuid')
                THEN 'is set by leat itself' END;
            EXIT WHEN reason IS NOT NULL;
        END LOOP;
        IF reason IS NULL AND total > 65536 THEN
            field := 'headers'; value := total || ' bytes'; reason := 'are larger than 65536 bytes together';
        END IF;
    END IF;
    IF reason IS NOT NULL THEN
        RAISE EXCEPTION 'leat: invalid message: % % %', field, coalesce(quote_literal(left(value, 64)), 'NULL'), reason
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$leat$;

-- Whether a time can be written as RFC 3339 in UTC.
CREATE FUNCTION @{_in_calendar}(at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $leat$
    SELECT at IS NULL OR (isfinite(at) AND at >= '0001-01-01 00:00:00+00' AND at < '10000-01-01 00:00:00+00')
$leat$;

-- Takes the locks of keys, which are sorted and each there once: the outbox shared, then
-- each key; of more than 1,000 keys, the outbox as a whole. One transaction locks at most
-- 1,000 keys in calls of its own, since the server's lock table is one for the whole cluster
-- (rule N5). How many it has asked for is kept in a setting that ends with the transaction and is
-- rolled back with a savepoint; only at the limit the server is asked which it holds. A caller
-- can set the setting: it bounds mistakes, and not what a role does on purpose.
CREATE FUNCTION @{_lock_keys}(keys bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $leat$
DECLARE
    most CONSTANT int := 1000;
    asked int := coalesce(nullif(current_setting('leat.keys_asked', true), '')::int, 0);
    k bigint;
BEGIN
    IF cardinality(keys) = 0 THEN
        RETURN;
    END IF;
    IF cardinality(keys) > most THEN
        PERFORM pg_advisory_xact_lock(@{_lock}('outbox', convert_to(@{text:}, 'UTF8')));
        RETURN;
    END IF;
    IF asked + cardinality(keys) > most THEN
        SELECT count(*) INTO asked
        FROM pg_locks l
        WHERE l.pid = pg_backend_pid() AND l.locktype = 'advisory' AND l.objsubid = 1 AND l.mode = 'ExclusiveLock'
          AND NOT (l.classid::bigint << 32 | l.objid::bigint) = ANY (keys);
        IF asked + cardinality(keys) > most THEN
            RAISE EXCEPTION 'leat: the transaction has locked too many keys: %, and the most is %', asked + cardinality(keys), most
                USING ERRCODE = 'program_limit_exceeded', HINT = 'Pass all messages to one call, or commit in between.';
        END IF;
    END IF;
    PERFORM set_config('leat.keys_asked', (asked + cardinality(keys))::text, true);
    PERFORM pg_advisory_xact_lock_shared(@{_lock}('outbox', convert_to(@{text:}, 'UTF8')));
    FOREACH k IN ARRAY keys LOOP
        PERFORM pg_advisory_xact_lock(k);
    END LOOP;
END
$leat$;

-- Stores a message whose key is locked: its number must not be drawn before (rule R3a).
CREATE FUNCTION @{_put}(topic text, payload bytea, key text, type text, id text, headers jsonb,
    occurred_at timestamptz, not_before timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE AS $leat$
DECLARE
    stored uuid := @{_stored_id}(id);
    id_text text := CASE WHEN stored::text <> id THEN id END;
    shard smallint := @{_shard}(convert_to(coalesce(nullif(key, ''), id), 'UTF8'));
BEGIN
    key := nullif(key, '');
    type := nullif(type, '');
    headers := nullif(nullif(headers, 'null'), '{}');
    IF not_before > statement_timestamp() THEN
        INSERT INTO @{_delayed} (not_before, shard, id, id_text, topic, key, type, payload, headers, occurred_at)
        VALUES (not_before, shard, stored, id_text, topic, key, type, payload, headers, occurred_at);
    ELSE
        INSERT INTO @{} (shard, id, id_text, topic, key, type, payload, headers, occurred_at)
        VALUES (shard, stored, id_text, topic, key, type, payload, headers, occurred_at);
    END IF;
END
$leat$;

-- Enqueues one message and returns its id.
CREATE FUNCTION @{_enqueue}(topic text, payload bytea, key text DEFAULT NULL, type text DEFAULT NULL, id text DEFAULT NULL,
    headers jsonb DEFAULT NULL, occurred_at timestamptz DEFAULT NULL, not_before timestamptz DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $leat$
BEGIN
    PERFORM @{_refuse}(topic, payload, key, type, id, headers, occurred_at, not_before);
    id := coalesce(nullif(id, ''), @{_new_id}());
    IF key <> '' THEN
        PERFORM @{_lock_keys}(ARRAY[@{_lock}('outbox', convert_to(@{text:}, 'UTF8'), convert_to(key, 'UTF8'))]);
    END IF;
    PERFORM @{_put}(topic, payload, key, type, id, headers, occurred_at, not_before);
    RETURN id;
END
$leat$;
COMMENT ON FUNCTION @{_enqueue}(text, bytea, text, text, text, jsonb, timestamptz, timestamptz)
    IS 'enqueues a message in this transaction and returns its id; messages of a key are published in the order of the commits';

-- The same for a payload that is text, such as JSON: it is sent in UTF-8.
CREATE FUNCTION @{_enqueue}(topic text, payload text, key text DEFAULT NULL, type text DEFAULT NULL, id text DEFAULT NULL,
    headers jsonb DEFAULT NULL, occurred_at timestamptz DEFAULT NULL, not_before timestamptz DEFAULT NULL) RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $leat$
    SELECT @{_enqueue}($1, convert_to($2, 'UTF8'), $3, $4, $5, $6, $7, $8)
$leat$;
COMMENT ON FUNCTION @{_enqueue}(text, text, text, text, text, jsonb, timestamptz, timestamptz)
    IS 'enqueues a message whose payload is text, sent in UTF-8, in this transaction and returns its id';

-- Enqueues the messages of an array, in its order, and returns their ids in that order. Two
-- calls with several keys each in one transaction can deadlock with another transaction;
-- one call with all of them cannot, since it takes all locks first and sorted.
CREATE FUNCTION @{_enqueue}(messages jsonb) RETURNS text[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $leat$
DECLARE
    fields CONSTANT text[] := ARRAY['topic', 'payload', 'payload_base64', 'key', 'type', 'id', 'headers', 'occurred_at', 'not_before'];
    m jsonb;
    unknown text;
    payload bytea[];
    ids text[] := '{}';
    n int := 0;
BEGIN
    IF jsonb_typeof(messages) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'leat: messages must be a JSON array of objects' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR m IN SELECT jsonb_array_elements(messages) LOOP
        IF jsonb_typeof(m) <> 'object' THEN
            RAISE EXCEPTION 'leat: invalid message %: % is no object', n, left(m::text, 64) USING ERRCODE = 'invalid_parameter_value';
        END IF;
        SELECT name INTO unknown FROM jsonb_object_keys(m) AS name WHERE name <> ALL (fields) LIMIT 1;
        IF unknown IS NOT NULL OR (m ? 'payload') = (m ? 'payload_base64') THEN
            RAISE EXCEPTION 'leat: invalid message %: %', n,
                CASE WHEN unknown IS NOT NULL THEN 'no field is called ' || quote_literal(left(unknown, 64))
                     ELSE 'needs either payload or payload_base64' END USING ERRCODE = 'invalid_parameter_value';
        END IF;
        payload[n] := coalesce(convert_to(m ->> 'payload', 'UTF8'), decode(m ->> 'payload_base64', 'base64'));
        PERFORM @{_refuse}(m ->> 'topic', payload[n], m ->> 'key', m ->> 'type', m ->> 'id', m -> 'headers',
                           (m ->> 'occurred_at')::timestamptz, (m ->> 'not_before')::timestamptz);
        ids := ids || coalesce(nullif(m ->> 'id', ''), @{_new_id}());
        n := n + 1;
    END LOOP;
    PERFORM @{_lock_keys}(ARRAY(
        SELECT DISTINCT @{_lock}('outbox', convert_to(@{text:}, 'UTF8'), convert_to(e ->> 'key', 'UTF8'))
        FROM jsonb_array_elements(messages) AS e WHERE e ->> 'key' <> '' ORDER BY 1));
    n := 0;
    FOR m IN SELECT jsonb_array_elements(messages) LOOP
        PERFORM @{_put}(m ->> 'topic', payload[n], m ->> 'key', m ->> 'type', ids[n + 1], m -> 'headers',
                        (m ->> 'occurred_at')::timestamptz, (m ->> 'not_before')::timestamptz);
        n := n + 1;
    END LOOP;
    RETURN ids;
END
$leat$;
COMMENT ON FUNCTION @{_enqueue}(jsonb)
    IS 'enqueues all messages of an array of objects with the fields of the other enqueue, and payload_base64 for bytes';

REVOKE ALL ON FUNCTION @{_sha1}(bytea), @{_stored_id}(text), @{_lock}(bytea[]), @{_shard}(bytea), @{_new_id}(),
    @{_refuse}(text, bytea, text, text, text, jsonb, timestamptz, timestamptz), @{_in_calendar}(timestamptz), @{_lock_keys}(bigint[]),
    @{_put}(text, bytea, text, text, text, jsonb, timestamptz, timestamptz),
    @{_enqueue}(jsonb), @{_enqueue}(text, bytea, text, text, text, jsonb, timestamptz, timestamptz),
    @{_enqueue}(text, text, text, text, text, jsonb, timestamptz, timestamptz) FROM PUBLIC;
