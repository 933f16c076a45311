-- Processes that create ranges or raise the floor take turns.
SELECT floor, width, lowered FROM @{_retention} FOR UPDATE
