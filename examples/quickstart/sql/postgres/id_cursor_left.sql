SELECT count(*) FROM leat.outbox WHERE seq > (SELECT last FROM id_cursor)
