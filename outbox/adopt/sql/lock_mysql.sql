-- Waits for the writers of the table, and keeps others away until CREATE TRIGGER is done. Under
-- the lock nothing else can be used, so that the tables of the outbox are locked, too.
LOCK TABLES {table} WRITE, {table} AS NEW WRITE{more}
