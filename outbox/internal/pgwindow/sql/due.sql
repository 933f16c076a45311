-- In how many microseconds the next delayed message is due, NULL if there is none. Relays ask it
-- for maintenance of their own process: another role may not read the table.
-- part of other statements
(SELECT greatest(0, extract(epoch FROM d.not_before - clock_timestamp()) * 1000000.0)::bigint
        FROM @{_delayed} d
        ORDER BY d.not_before, d.no
        LIMIT 1)
