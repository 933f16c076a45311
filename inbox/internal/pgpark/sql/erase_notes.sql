-- Deletes what is stored about messages in addition to their ids, and the errors of their attempts. That they
-- were processed, and how often they were tried, stays. $1 ids as they are stored, $2 the ids, $3 actor, $4
-- reason.
WITH m AS MATERIALIZED (
  SELECT * FROM unnest($1::uuid[], $2::bytea[]) AS m(id, message_id)),
n AS (
  DELETE FROM @{_notes}
  WHERE consumer = ANY (ARRAY(SELECT id FROM @{_consumers})) AND id = ANY ($1::uuid[])
  RETURNING consumer, id),
a AS (
  UPDATE @{_attempts} SET errors = NULL
  WHERE consumer = ANY (ARRAY(SELECT id FROM @{_consumers})) AND id = ANY ($1::uuid[]) AND errors IS NOT NULL
  RETURNING consumer, id)
INSERT INTO @{_audit} (action, actor, reason, consumer, parked_no, message_id, topic, details)
SELECT 'erase', $3::text, $4::text, r.consumer, 0, m.message_id, '', pg_catalog.jsonb_build_object('from', r.place)
FROM (SELECT consumer, id, 'notes' AS place FROM n UNION ALL SELECT consumer, id, 'attempts' FROM a) r JOIN m USING (id)
