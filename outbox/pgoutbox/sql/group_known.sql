-- Whether group $1 is known, how many records it holds, and who holds one of its leases. $2 are owners whose sessions are gone.
SELECT EXISTS (SELECT FROM @{_groups} WHERE relay_group = $1)
    OR EXISTS (SELECT FROM @{_leases} WHERE relay_group = $1)
    OR EXISTS (SELECT FROM @{_positions} WHERE relay_group = $1),
       (SELECT count(*) FROM @{_held} WHERE relay_group = $1),
       (SELECT max(owner) FROM @{_leases} WHERE relay_group = $1 AND clock_timestamp() BETWEEN lease_from AND lease_until
          AND owner <> ALL ($2::text[]))
WHERE @{primary}
