UPDATE balances
SET balance = balance + CASE WHEN name = $1 THEN -$3::bigint ELSE $3::bigint END
WHERE name IN ($1, $2)
