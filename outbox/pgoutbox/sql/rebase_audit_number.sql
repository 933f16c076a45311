-- A copy whose sequences were left behind would refuse the entry in the audit.
SELECT setval(a.sequence, a.highest)
FROM (SELECT pg_get_serial_sequence(@{text:_audit}, 'no')::regclass AS sequence, (SELECT max(no) FROM @{_audit}) AS highest) a
WHERE a.highest > coalesce(pg_sequence_last_value(a.sequence), 0) AND @{primary}
