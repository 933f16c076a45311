-- Whoever makes ranges or raises the floor takes turns.
SELECT floor, width, lowered FROM @{_retention} FOR UPDATE
