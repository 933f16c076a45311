-- Fails for the first row that is pending and cannot be sent. It changes nothing.
-- shows
DO $leat$
#variable_conflict use_column
DECLARE
    "new" record;
{declare}
BEGIN
    FOR "new" IN SELECT NEW.* FROM {table} AS NEW WHERE {pending} ORDER BY {order} LOOP
{row}
    END LOOP;
END
$leat$
