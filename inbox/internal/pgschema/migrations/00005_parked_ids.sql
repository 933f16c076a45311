-- A btree has no room for an id of some kilobytes, as producers may send: such a message
-- could be neither processed nor parked. A hash index keeps four bytes of each, and
-- serves the same queries, those of the release before as well.
DROP INDEX @{_parked_id_idx};
CREATE INDEX @{name:_parked_id_idx} ON @{_parked} USING hash (message_id);
