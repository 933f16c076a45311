-- Producers that write to the log by SQL can name a topic that is longer than an index
-- takes. Such a record could not be held, and the relay stood still in front of it. So the
-- indexes of held records have the first 255 characters of the topic, which is all of every
-- valid one. The key's hash comes first now: it selects best, and statements of earlier
-- releases, which compare whole topics, still find their rows by it.
DROP INDEX @{_held_key_idx};
DROP INDEX @{_held_first_idx};
DROP INDEX @{_held_next_idx};
CREATE INDEX @{name:_held_key_idx} ON @{_held} (relay_group, hashtextextended(key, 0), left(topic, 255), seq);
CREATE INDEX @{name:_held_first_idx} ON @{_held} (relay_group, hashtextextended(key, 0), left(topic, 255), seq) WHERE state <> 'wait';
CREATE INDEX @{name:_held_next_idx} ON @{_held} (relay_group, left(topic, 255), next_at) INCLUDE (created_at) WHERE state <> 'wait';

-- For people with psql.
CREATE OR REPLACE VIEW @{_parked} AS
SELECT relay_group, seq, coalesce(id_text, id::text) AS id, topic, key, type, octet_length(payload) AS payload_bytes,
       state, attempts, reason, errors -> -1 ->> 'error' AS last_error, held_at, created_at
FROM @{_held} h
WHERE state = 'parked'
   OR (state = 'wait' AND EXISTS (SELECT FROM @{_held} p
       WHERE p.relay_group = h.relay_group AND left(p.topic, 255) = left(h.topic, 255) AND p.topic = h.topic
         AND hashtextextended(p.key, 0) = hashtextextended(h.key, 0) AND p.key = h.key
         AND p.seq < h.seq AND p.state = 'parked' AND p.state <> 'wait'));
