-- part of other statements
c.created_at <= statement_timestamp() - $3::bigint::float8 * interval '1 microsecond' AND c.seq <= $5::bigint
  AND EXISTS (SELECT FROM newest)
  AND NOT EXISTS (
      SELECT FROM newest n
      WHERE n.relay_group <> ALL ($4::text[])
        AND NOT pg_visible_in_snapshot(c.xid, n.prev)
        AND NOT (pg_visible_in_snapshot(c.xid, n.target) AND (c.seq <= n.last OR c.shard % n.slots <> n.slot)))
