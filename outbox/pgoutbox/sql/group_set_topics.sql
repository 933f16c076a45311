-- Has group $1 read topics $2, which are $3 beside its leases. Nobody holds one.
WITH l AS (UPDATE @{_leases} SET topics = $3::text[] WHERE relay_group = $1)
UPDATE @{_groups} SET topics = $2::text[] WHERE relay_group = $1
