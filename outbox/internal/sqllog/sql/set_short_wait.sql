-- The least that MySQL takes.
SET SESSION innodb_lock_wait_timeout = 1
