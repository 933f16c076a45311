-- The next number is among the options. The value in information_schema may be a day old.
SHOW CREATE TABLE @{messages}
