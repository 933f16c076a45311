-- Settings that make a commit less than durable. Settings of roles and databases apply to all
-- sessions of these: a relay may have another role than the operator. They are stored as they were
-- written, in any case and by any of the names of off. A database whose storage is durable by other
-- means, as Neon's is, shows it by leat.durable_storage.
SELECT name, setting, 'server' AS whose,
       name <> 'synchronous_commit' AND lower(coalesce(current_setting('leat.durable_storage', true), '')) IN ('on', 'true', 'yes', '1') AS elsewhere
FROM pg_settings
WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'
UNION ALL
SELECT split_part(line, '=', 1), split_part(line, '=', 2),
       concat_ws(' in ', 'role ' || r.rolname, 'database ' || d.datname), false
FROM pg_db_role_setting s
LEFT JOIN pg_roles r ON r.oid = s.setrole
LEFT JOIN pg_database d ON d.oid = s.setdatabase
CROSS JOIN unnest(s.setconfig) AS line
WHERE lower(line) IN ('synchronous_commit=off', 'synchronous_commit=false', 'synchronous_commit=no', 'synchronous_commit=0') AND (s.setdatabase = 0 OR d.datname = current_database())
ORDER BY 1, 3
