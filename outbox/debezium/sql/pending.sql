-- How many rows were inserted in transactions that committed up to $2 and are not confirmed on
-- the slot $1, of the tables of publication $3. A slot that is in use cannot be read. An insert
-- is the letter I in pgoutput's messages.
SELECT count(*)
FROM pg_catalog.pg_logical_slot_peek_binary_changes($1, $2::pg_lsn, NULL, 'proto_version', '1', 'publication_names', $3)
WHERE get_byte(data, 0) = ascii('I') AND @{primary}
