-- How many connections are left to this database, and how many there are: of the server, without those
-- that are reserved (reserved_connections since 16), and of the database's own limit. Every role can
-- count the connections of others.
SELECT least(server.most - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' OR backend_type IS NULL),
             own.most - (SELECT count(*) FROM pg_stat_activity a WHERE a.datid = own.oid))::int,
       least(server.most, own.most)::int
FROM (SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
          - coalesce(current_setting('reserved_connections', true)::int, 0) AS most) server,
     (SELECT oid, CASE WHEN datconnlimit < 0 THEN 1000000 ELSE datconnlimit END AS most
      FROM pg_database WHERE datname = current_database()) own
