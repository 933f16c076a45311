-- Connections that are left to this database: of the server, without those that are
-- reserved (reserved_connections since 16), and of the database's own limit. Every role sees that the others' are there.
SELECT least(
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0)
        - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' OR backend_type IS NULL),
    (SELECT CASE WHEN datconnlimit < 0 THEN 1000000
                 ELSE datconnlimit - (SELECT count(*) FROM pg_stat_activity a WHERE a.datid = d.oid) END
     FROM pg_database d WHERE datname = current_database()))::int
