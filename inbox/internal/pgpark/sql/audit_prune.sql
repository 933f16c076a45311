-- $1 age in microseconds, $2 limit.
DELETE FROM @{_audit}
WHERE no IN (
  SELECT no FROM @{_audit}
  WHERE at < statement_timestamp() - $1::bigint::float8 * interval '1 microsecond'
  ORDER BY at LIMIT $2::int)
