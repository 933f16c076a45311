SELECT seq, id::text, key, payload FROM leat.outbox WHERE seq > $1 ORDER BY seq LIMIT $2
