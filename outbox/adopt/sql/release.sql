-- Takes back what adopt has made. It waits for the writers of the table.
LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE;
{finish}
DROP TRIGGER IF EXISTS leat_1_note ON {table};
DROP TRIGGER IF EXISTS leat_2_enqueue ON {table};
DROP FUNCTION IF EXISTS {note}(), {enqueue}();
