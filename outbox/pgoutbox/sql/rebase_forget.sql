WITH g AS (
    UPDATE @{_groups} SET next_slots = NULL, incarnation = NULL WHERE relay_group = $1
)
DELETE FROM @{_positions} WHERE relay_group = $1
