-- Numbered columns other than the log's, of leat's tables in schema $1, whose names begin with one of $2, as far as this
-- role may read them: the table and the column as SQL writes them, and the sequence. The inbox numbers its
-- consumers by itself.
SELECT c.oid::regclass::text, quote_ident(a.attname), s.name
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attidentity <> '' AND NOT a.attisdropped
CROSS JOIN LATERAL (SELECT pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname) AS name OFFSET 0) s
WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND right(c.relname, 10) <> '_consumers'
  AND EXISTS (SELECT FROM unnest($2::text[]) p WHERE starts_with(c.relname, p || '_'))
  AND has_table_privilege(c.oid, 'SELECT') AND has_sequence_privilege(s.name, 'SELECT, USAGE')
ORDER BY c.relname, a.attnum
