-- The next number is among the options. What information_schema says of it may be a day old.
SHOW CREATE TABLE @{messages}
