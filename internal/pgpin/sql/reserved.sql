-- Whether this session has one of the connections that the server reserves: those of
-- superuser_reserved_connections and, since 16, of reserved_connections. Only roles that may take
-- them look at how many there are.
-- shows
SELECT CASE WHEN current_setting('is_superuser') = 'on'
              OR EXISTS (SELECT FROM pg_catalog.pg_roles
                         WHERE rolname = 'pg_use_reserved_connections' AND pg_catalog.pg_has_role(oid, 'USAGE'))
    THEN (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend')
         > current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true)::int, 0)
    ELSE false END
