-- What every relay needs of the server, and of the database.
SELECT current_setting('server_version_num')::int, current_setting('server_version'), version(), pg_is_in_recovery(),
       (SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database())
