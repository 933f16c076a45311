-- Rows of the forwarder's table behind ($1, $2), by primary key. What they are about stands in
-- their envelopes.
SELECT transaction_id, "offset", uuid::text, payload FROM {log}
WHERE (transaction_id, "offset") > ($1::xid8, $2::bigint) AND @{primary}
ORDER BY transaction_id, "offset"
LIMIT $3
