-- Makes the message of the row NEW, or reports why it cannot be sent. The field to blame is the
-- one that was evaluated last, or the one that outbox_refuse names.
    BEGIN
        leat_field := 'id'; leat_id := {id};
        leat_field := 'topic'; leat_topic := {topic};
        leat_field := 'key'; leat_key := {key};
        leat_field := 'type'; leat_type := {type};
        leat_field := 'payload'; leat_payload := {payload};
        leat_field := 'headers'; leat_headers := {headers};
        leat_field := 'occurred_at'; leat_time := {time};
        leat_field := 'not_before'; leat_not_before := {not_before};
        leat_field := NULL;
        PERFORM @{_refuse}(leat_topic, leat_payload, leat_key, leat_type, leat_id, leat_headers, leat_time, leat_not_before);
        IF coalesce(leat_id, '') = '' THEN
            RAISE EXCEPTION 'id must not be NULL or empty' USING ERRCODE = 'invalid_parameter_value';
        END IF;
    EXCEPTION WHEN OTHERS THEN
        leat_reason := regexp_replace(SQLERRM, '^leat: invalid message: ', '');
        IF leat_field IS NULL THEN
            leat_field := substring(leat_reason from '^[a-z_]+');
        ELSE
            leat_reason := leat_field || ' cannot be made: ' || leat_reason;
        END IF;
        RAISE EXCEPTION 'leat: a row of % cannot be sent: % (% is made of %), row id %', {name}, leat_reason, leat_field,
            CASE leat_field {sources} END, coalesce(quote_literal(left(leat_id, 64)), 'NULL') USING ERRCODE = SQLSTATE;
    END;
