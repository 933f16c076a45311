-- Passes on the pending rows, unless triggers have passed on all rows already. The table is locked:
-- writers have ended, and those to come find the triggers. So these rows are in front of all that are
-- inserted later. finish.sql recognises by the comment on the function that this was done.
-- part of other statements
DO $leat$
#variable_conflict use_column
DECLARE
    "new" record;
    leat_path text := current_setting('search_path');
{declare}
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_trigger
                   WHERE tgrelid = {name}::regclass AND tgname = 'leat_2_enqueue' AND tgenabled <> 'D') THEN
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        PERFORM pg_advisory_xact_lock(@{_lock}('outbox', convert_to(@{text:}, 'UTF8')));
        FOR "new" IN SELECT NEW.* FROM {table} AS NEW WHERE {pending} ORDER BY {order} LOOP
{row}
            PERFORM @{_put}(leat_topic, leat_payload, leat_key, leat_type, leat_id, leat_headers, leat_time, leat_not_before);
        END LOOP;
        COMMENT ON FUNCTION {enqueue}() IS 'leat: rows that were pending have been passed on';
        PERFORM pg_catalog.set_config('search_path', leat_path, true);
    END IF;
END
$leat$;
