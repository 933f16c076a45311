SELECT CONCAT(@@hostname, ':', @@port, ' (server_id ', @@server_id, ')')
