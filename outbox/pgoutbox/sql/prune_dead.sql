DELETE FROM @{_dead}
WHERE (relay_group, seq) IN (SELECT relay_group, seq FROM @{_dead} WHERE died_at < statement_timestamp() - $1::bigint::float8 * interval '1 microsecond' LIMIT $2)
