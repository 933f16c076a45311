INSERT INTO @{_leases} (relay_group, slot) VALUES ($1, $2) ON CONFLICT DO NOTHING
