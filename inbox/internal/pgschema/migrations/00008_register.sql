-- A number that a transaction has drawn which rolled back is not lost: whoever had EXECUTE
-- alone could use up all of them, so that no consumer could be registered any more. The
-- number is the one behind the highest, and at the end one that is free.
CREATE OR REPLACE FUNCTION @{_register}(consumer text) RETURNS smallint
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
