-- Whether all servers share named locks. Members of a group replication do not: each has its own.
SELECT NOT EXISTS (SELECT 1 FROM information_schema.plugins WHERE plugin_name = 'group_replication' AND plugin_status = 'ACTIVE')
