-- Records what group $1 reads: $2 for people and for the views, $3 in the lease of slot $4, whose
-- epoch is $5.
WITH l AS (
    UPDATE @{_leases} SET topics = $3::text[] WHERE relay_group = $1 AND slot = $4 AND epoch = $5 RETURNING 1)
UPDATE @{_groups} SET topics = $2::text[] WHERE relay_group = $1 AND EXISTS (SELECT FROM l)
