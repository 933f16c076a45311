-- In one order, so that transfers don't deadlock. What is locked is read by the next
-- statement, which sees what was committed meanwhile.
SELECT FROM accounts WHERE name IN ($1, $2) ORDER BY name FOR UPDATE
