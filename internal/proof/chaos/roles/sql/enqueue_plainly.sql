-- As a producer without a library does. Its keys are its own: one event each, so that no
-- lock has to keep their order.
INSERT INTO leat.outbox (shard, id, id_text, topic, key, type, payload, headers)
VALUES (0, gen_random_uuid(), $1, $2, $3, $4, $5, nullif($6::text, '')::jsonb)
