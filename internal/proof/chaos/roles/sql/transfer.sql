WITH moved AS (
  UPDATE accounts
  SET balance = balance + CASE WHEN name = $2 THEN -$4::bigint ELSE $4::bigint END,
      version = version + (name = $2)::int
  WHERE name IN ($2, $3)
  RETURNING name, version
)
INSERT INTO transfers (id, key, version, amount, to_key)
SELECT $1, $2, version, $4, $3 FROM moved WHERE name = $2
RETURNING version
