-- Whoever makes ranges or raises the floor takes turns.
SELECT floor, width FROM @{_retention} FOR UPDATE
