-- Not by the members of a group replication, whose named locks are each server's own.
SELECT NOT EXISTS (SELECT 1 FROM information_schema.plugins WHERE plugin_name = 'group_replication' AND plugin_status = 'ACTIVE')
