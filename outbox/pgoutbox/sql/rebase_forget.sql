-- Whether something is left out must be decided anew.
WITH g AS (
    UPDATE @{_groups} SET next_slots = NULL, incarnation = NULL, from_oldest = from_oldest AND $2::boolean WHERE relay_group = $1
)
DELETE FROM @{_positions} WHERE relay_group = $1
