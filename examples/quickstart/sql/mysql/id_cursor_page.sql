SELECT seq, id, msg_key, payload FROM leat_outbox WHERE seq > ? ORDER BY seq LIMIT ?
