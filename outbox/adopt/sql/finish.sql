-- Marks as sent what the old worker would send again: the outbox has all rows of the table, if the
-- pending ones were passed on and triggers have passed on the others. Otherwise it marks nothing.
DO $leat$
#variable_conflict use_column
DECLARE
    leat_path text := current_setting('search_path');
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_trigger
               WHERE tgrelid = {name}::regclass AND tgname = 'leat_2_enqueue' AND tgenabled <> 'D')
       AND obj_description(to_regproc({enqueue_text}), 'pg_proc') LIKE 'leat: rows that were pending %' THEN
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        UPDATE {table} AS NEW SET {done} WHERE {pending};
        PERFORM pg_catalog.set_config('search_path', leat_path, true);
    END IF;
END
$leat$;
