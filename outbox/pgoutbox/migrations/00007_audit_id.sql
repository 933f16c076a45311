-- Finds the entries about a message, however many there are. An id may be longer than an
-- index takes, hence its hash. Whoever has millions of entries builds it beforehand, by
-- CREATE INDEX CONCURRENTLY, since what relays set aside waits while it is built here.
CREATE INDEX IF NOT EXISTS @{name:_audit_id_idx} ON @{_audit} (hashtextextended(id, 0), no) WHERE id IS NOT NULL;
