-- The lease of slot $2 of group $1 while another owner holds it: its name, how long for, and
-- whether it is marked (a 0 before its number): then its session holds a lock, and gone is true
-- if it no longer does. Owners named $3 with a number up to $4 do not count as others (NULL:
-- all count). The lock is tried after the lease was read, never in a condition, and kept until
-- the transaction ends.
WITH held AS MATERIALIZED (
    SELECT owner, owner ~ '/0[0-9]+$' AS marked,
           (extract(epoch FROM lease_until - clock_timestamp()) * 1000000.0)::bigint AS remaining
    FROM @{_leases}
    WHERE relay_group = $1 AND slot = $2 AND owner IS NOT NULL AND clock_timestamp() BETWEEN lease_from AND lease_until
      AND NOT (CASE WHEN starts_with(owner, $3) THEN substr(owner, length($3) + 1)::bigint <= $4 ELSE false END)
      AND @{primary}
)
SELECT owner, remaining, marked,
       CASE WHEN marked THEN pg_try_advisory_xact_lock(hashtextextended(owner, 0::bigint)) ELSE false END AS gone
FROM held
