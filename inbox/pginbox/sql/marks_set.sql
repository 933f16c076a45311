-- Before each commit of a group's offsets: moves marks from the tokens that were seen last, if the
-- history is the same. It writes all of them or, unless another session does the same at this
-- moment, none.
WITH wanted AS (
  SELECT part, next_off, was FROM unnest($4::integer[], $5::bigint[], $6::text[]) AS w (part, next_off, was)),
sound AS (
  SELECT w.part, w.next_off FROM wanted w
  LEFT JOIN @{_marks} m ON m.consumer_group = $1::text AND m.topic = $2::text AND m.source = $3::text AND m.part = w.part
  WHERE coalesce(m.token, '') = w.was AND {history} = $7::text)
INSERT INTO @{_marks} AS m (consumer_group, topic, source, part, next_off, token)
SELECT $1::text, $2::text, $3::text, s.part, s.next_off, $8::text FROM sound s
WHERE (SELECT count(*) FROM sound) = (SELECT count(*) FROM wanted)
ON CONFLICT (consumer_group, topic, source, part) DO UPDATE
SET next_off = excluded.next_off, token = excluded.token, at = excluded.at
WHERE m.token = (SELECT w.was FROM wanted w WHERE w.part = m.part)
