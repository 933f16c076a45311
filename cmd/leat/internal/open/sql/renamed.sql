-- Functions and views of leat in schema $1 that still look for their tables under the old name of a renamed schema, since
-- the texts in them stay as they are; and the statement that fixes each. $2 are the names that tables of leat begin with.
WITH definitions AS (
    SELECT p.proname AS name, pg_get_functiondef(p.oid) AS text
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = $1 AND p.prokind = 'f'
    UNION ALL
    SELECT c.relname, pg_get_viewdef(c.oid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relkind = 'v'
), texts AS (
    SELECT DISTINCT d.name, found[1] AS former
    FROM definitions d
    JOIN unnest($2::text[]) AS table_name ON starts_with(d.name, table_name || '_')
    CROSS JOIN LATERAL regexp_matches(d.text, '("(?:[^"]|"")+")\."' || table_name, 'g') AS found
    WHERE found[1] <> '"' || replace($1, '"', '""') || '"'
)
SELECT format('%s functions and views of leat look for their tables in schema %s', count(DISTINCT name), former),
       format('rename the schema back; or, with relays, consumers and producers stopped: DO $do$ DECLARE definition text; BEGIN '
           'FOR definition IN SELECT replace(x.text, %L, %L) FROM (SELECT pg_get_functiondef(oid) AS text FROM pg_proc WHERE pronamespace = %L::regnamespace AND prokind = ''f'' '
           'UNION ALL SELECT format(''CREATE OR REPLACE VIEW %%s AS %%s'', oid::regclass, pg_get_viewdef(oid)) FROM pg_class WHERE relnamespace = %L::regnamespace AND relkind = ''v'') x '
           'WHERE position(%L IN x.text) > 0 LOOP EXECUTE definition; END LOOP; END $do$',
           former || '."', quoted || '."', quote_ident($1), quote_ident($1), former || '."')
FROM texts CROSS JOIN (SELECT '"' || replace($1, '"', '""') || '"' AS quoted) q
GROUP BY former, quoted
ORDER BY 1
