-- In order, as the rows of a group are locked everywhere.
SELECT count(*) FROM (SELECT FROM @{_leases} WHERE relay_group = $1 ORDER BY slot FOR UPDATE) l
