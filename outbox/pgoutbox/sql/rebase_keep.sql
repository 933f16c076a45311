WITH g AS (
    UPDATE @{_groups} SET incarnation = $3 WHERE relay_group = $1
)
UPDATE @{_positions} SET system_identifier = $2 WHERE relay_group = $1
