-- Records ids whose effects are there already: $2 ids, $3 their locks. Each lock is
-- only tried, so this waits for no handler and no claim waits for this.
WITH m AS MATERIALIZED (
  SELECT id, pg_try_advisory_xact_lock(h) AS ok FROM unnest($2::uuid[], $3::bigint[]) AS m (id, h)
), i AS (
  INSERT INTO @{} (consumer, id, arrived) SELECT $1::smallint, id, greatest((date_part('epoch', now()) / 60)::integer, $4::integer) FROM m WHERE ok ON CONFLICT DO NOTHING RETURNING id
)
SELECT m.id, m.ok, i.id IS NOT NULL FROM m LEFT JOIN i USING (id)
