-- What the server is a member of. By its global settings: a session may have switched wsrep_on off
-- for itself alone.
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', 'group_replication_single_primary_mode')
