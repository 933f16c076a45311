-- Marked leases of group $1 that are held, and whether their session is gone (see look.sql).
WITH held AS MATERIALIZED (
    SELECT slot, owner, epoch FROM @{_leases}
    WHERE relay_group = $1 AND owner ~ '/0[0-9]+$' AND clock_timestamp() BETWEEN lease_from AND lease_until AND @{primary}
)
SELECT slot, owner, epoch, pg_try_advisory_xact_lock(hashtextextended(owner, 0::bigint)) AS gone
FROM held
