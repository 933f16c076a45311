-- One row: the setting that tells whether the commit will be durable, the places
-- of the messages whose lock another transaction holds, and those of the messages
-- that were processed before. All others are ours. The client has removed copies:
-- they would both count as ours, since the INSERT keeps one of them.
-- Locks are only tried, so that they need no order: two batches that meet in any
-- order refuse each other's messages, and neither waits.
-- NOT IN is a hash of the inserted ids, built once; a join with the CTEs, whose
-- sizes the planner does not know, may become a nested loop.
-- See rule B8.
WITH m AS MATERIALIZED (
  SELECT id, n, pg_try_advisory_xact_lock(h) AS ok
  FROM unnest($2::uuid[], $3::bigint[]) WITH ORDINALITY AS m(id, h, n)
), i AS (
  INSERT INTO @{} (consumer, id, arrived) SELECT $1::smallint, id, greatest((date_part('epoch', now()) / 60)::integer, $4::integer) FROM m WHERE ok
  ON CONFLICT DO NOTHING RETURNING id
)
SELECT current_setting('synchronous_commit'),
  coalesce(pg_catalog.array_agg(n) FILTER (WHERE NOT ok), '{}'),
  coalesce(pg_catalog.array_agg(n) FILTER (WHERE ok AND id NOT IN (SELECT id FROM i)), '{}')
FROM m
