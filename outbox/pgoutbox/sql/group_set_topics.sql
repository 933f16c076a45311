-- Sets the topics of group $1 to $2, and to $3 in its leases. None of them is held.
WITH l AS (UPDATE @{_leases} SET topics = $3::text[] WHERE relay_group = $1)
UPDATE @{_groups} SET topics = $2::text[] WHERE relay_group = $1
