-- $1 consumer or NULL for all of them, $2 age in microseconds, $3 limit.
DELETE FROM @{_audit}
WHERE no IN (
  SELECT no FROM @{_audit}
  WHERE ($1::smallint IS NULL OR consumer = $1::smallint)
    AND at < statement_timestamp() - $2::bigint::float8 * interval '1 microsecond'
  ORDER BY at LIMIT $3::int)
