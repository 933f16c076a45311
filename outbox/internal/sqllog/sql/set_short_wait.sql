-- The minimum that MySQL accepts.
SET SESSION innodb_lock_wait_timeout = 1
