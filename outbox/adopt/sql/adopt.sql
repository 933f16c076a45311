-- What an adopted table needs, in one transaction. {…} are the table's names and columns.
--
-- Producers know nothing of leat's locks, so that they are taken at COMMIT alone, and all of
-- a transaction in one order: two transactions with the same keys cannot deadlock over them,
-- whatever the order of their rows, and none waits for another that goes on working. So the
-- first trigger only notes the lock of the row's key, in a setting that ends with the
-- transaction and is rolled back with a savepoint. The second is deferred: its first call
-- takes what was noted. It has the row as it was inserted, even if it is gone by then.
-- A savepoint that is rolled back takes its rows with it. The names of the triggers make the
-- note come first where constraints are immediate.
--
-- The server does not check the body of a function before it runs, which would be in a
-- producer. So this checks first that the outbox has the functions that they call.
SELECT @{text:_refuse}::regproc, @{text:_lock_keys}::regproc, @{text:_put}::regproc;

CREATE OR REPLACE FUNCTION {note}() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $leat$
#variable_conflict use_column
DECLARE
    leat_noted text := coalesce(current_setting({setting}, true), '');
    leat_lock text;
{declare}
BEGIN
    -- Refused here, the statement fails that is to blame, and not COMMIT.
{row}
    IF leat_key <> '' AND leat_noted NOT IN ('all', 'held') THEN
        leat_lock := ' ' || @{_lock}('outbox', convert_to(@{text:}, 'UTF8'), convert_to(leat_key, 'UTF8')) || ' ';
        IF length(leat_noted) > 20000 THEN -- about a thousand keys
            PERFORM set_config({setting}, 'all', true);
        ELSIF strpos(leat_noted, leat_lock) = 0 THEN
            PERFORM set_config({setting}, leat_noted || leat_lock, true);
        END IF;
    END IF;
    RETURN NULL;
END
$leat$;

CREATE OR REPLACE FUNCTION {enqueue}() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $leat$
#variable_conflict use_column
DECLARE
    leat_noted text := coalesce(current_setting({setting}, true), '');
BEGIN
    IF leat_noted = 'all' THEN
        PERFORM pg_advisory_xact_lock(@{_lock}('outbox', convert_to(@{text:}, 'UTF8')));
        PERFORM set_config({setting}, 'held', true);
    ELSIF leat_noted NOT IN ('', 'held') THEN
        PERFORM @{_lock_keys}(ARRAY(
            SELECT n::bigint FROM string_to_table(leat_noted, ' ') AS n WHERE n <> '' ORDER BY 1));
        PERFORM set_config({setting}, '', true);
    END IF;
    PERFORM @{_put}({topic}, {payload}, {key}, {type}, {id}, {headers}, {time}, {not_before});
    RETURN NULL;
END
$leat$;

REVOKE ALL ON FUNCTION {note}(), {enqueue}() FROM PUBLIC;
LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE;
{take}
DROP TRIGGER IF EXISTS leat_1_note ON {table};
DROP TRIGGER IF EXISTS leat_2_enqueue ON {table};
CREATE TRIGGER leat_1_note AFTER INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION {note}();
CREATE CONSTRAINT TRIGGER leat_2_enqueue AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION {enqueue}();
