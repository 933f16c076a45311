-- The claim in SQL, for services in other languages: inside the transaction of the
-- message's effects, with the lock and the row of the library, so that consumers of both
-- kinds can share a name.
--
-- The functions that a caller names run with the rights of the role that migrated, so
-- that the caller needs USAGE of the schema and EXECUTE of the function, and no right to
-- a table. Nobody has EXECUTE until it is granted. They alone set the search path: a
-- function that sets it is slow to call, and those below are called by them.
-- See design 12.10.

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

-- Registers a consumer, once and in a transaction of its own, and returns its number. A
-- misspelt consumer would remember nothing that the right one did, so claims register nobody.
CREATE FUNCTION @{_register}(consumer text) RETURNS smallint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $leat$
DECLARE
    number smallint;
BEGIN
    IF coalesce(consumer, '') = '' OR octet_length(consumer) > 255 THEN
        RAISE EXCEPTION 'leat: consumer % must have 1 to 255 bytes', coalesce(quote_literal(left(consumer, 64)), 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(@{_lock}('inbox consumers', convert_to(@{text:}, 'UTF8')));
    SELECT c.id INTO number FROM @{_consumers} c WHERE c.name = consumer;
    IF number IS NULL THEN
        INSERT INTO @{_consumers} (name) VALUES (consumer) RETURNING id INTO number;
    END IF;
    RETURN number;
END
$leat$;
COMMENT ON FUNCTION @{_register}(text) IS 'registers a consumer of the inbox, in a transaction of its own; again it changes nothing';

-- Claims the message id for consumer in this transaction: 'claimed' if its effects may be
-- written and committed with it, 'duplicate' if they were committed before, 'busy' if
-- another transaction is at it, whose end is not known: roll back, and have it delivered
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
