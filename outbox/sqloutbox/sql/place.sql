SHOW VARIABLES WHERE Variable_name IN ('hostname', 'server_uuid', 'server_uid')
