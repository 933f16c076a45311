-- What is wrong with the logical replication of leat's tables, and what fixes it. $1 is the schema, $2 are the names that
-- tables of leat begin with, $3 is the log. A publication that does not publish updates is a stream of messages, and not a
-- copy.
WITH tables AS (
    SELECT c.oid, c.oid::regclass::text AS name, n.nspname, c.relname, c.relkind, c.relispartition,
           CASE WHEN c.relispartition THEN (SELECT h.inhparent FROM pg_inherits h WHERE h.inhrelid = c.oid) END AS parent
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
      AND EXISTS (SELECT FROM unnest($2::text[]) AS table_name WHERE c.relname = table_name OR starts_with(c.relname, table_name || '_'))
), published AS (
    SELECT p.pubname, p.pubviaroot, p.pubupdate, t.oid, t.parent
    FROM pg_publication p
    JOIN pg_publication_tables l ON l.pubname = p.pubname
    JOIN tables t ON t.nspname = l.schemaname AND t.relname = l.tablename
), copied AS (
    SELECT s.subname, s.subenabled, r.srsubstate, t.oid, t.parent
    FROM pg_subscription s JOIN pg_subscription_rel r ON r.srsubid = s.oid JOIN tables t ON t.oid = r.srrelid
)
SELECT format('publication %I publishes ranges of %s under their own names: one that the subscriber lacks stops the replication, and the rows of one that is made there later are passed over', p.pubname, p.parent::regclass),
       format('ALTER PUBLICATION %I SET (publish_via_partition_root = true) before it is subscribed to; if it is, make each new range there before it is used, then ALTER SUBSCRIPTION … REFRESH PUBLICATION', p.pubname)
FROM published p
WHERE p.parent IS NOT NULL AND NOT p.pubviaroot
GROUP BY p.pubname, p.parent
UNION ALL
SELECT format('publication %I has %s and is without %s', p.pubname, $3::text, string_agg(t.name, ', ' ORDER BY t.name)),
       'add them, or leave out all of leat''s tables and drain the outbox before the switch: what is not copied is lost'
FROM (SELECT pubname FROM published WHERE pubupdate GROUP BY pubname
      HAVING bool_or(to_regclass($3::text) IN (oid, parent))) p
JOIN tables t ON NOT t.relispartition
WHERE NOT EXISTS (SELECT FROM published x WHERE x.pubname = p.pubname AND (x.oid = t.oid OR x.parent = t.oid))
GROUP BY p.pubname
UNION ALL
SELECT format('subscription %I does not know range %s, and passes its rows over', min(c.subname), t.name),
       format('ALTER SUBSCRIPTION %I REFRESH PUBLICATION', min(c.subname))
FROM tables t JOIN copied c ON c.parent = t.parent
WHERE t.relkind = 'r' AND NOT EXISTS (SELECT FROM copied k WHERE k.oid IN (t.oid, t.parent))
GROUP BY t.name
UNION ALL
SELECT format('subscription %I is disabled', c.subname), format('see to the cause in the server''s log, then ALTER SUBSCRIPTION %I ENABLE', c.subname)
FROM copied c WHERE NOT c.subenabled
GROUP BY c.subname
UNION ALL
SELECT format('subscription %I has not copied all rows of %s', c.subname, string_agg(t.name, ', ' ORDER BY t.name)),
       'wait; if it takes long, see to the cause in the server''s log'
FROM copied c JOIN tables t ON t.oid = c.oid
WHERE c.srsubstate IN ('i', 'd')
GROUP BY c.subname
ORDER BY 1
