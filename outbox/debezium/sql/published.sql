-- Whether the publication $1 has the table $2.
SELECT EXISTS (
    SELECT FROM pg_publication_tables
    WHERE pubname = $1 AND to_regclass(quote_ident(schemaname) || '.' || quote_ident(tablename)) = to_regclass($2))
