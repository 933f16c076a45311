SELECT count(*) FROM leat_outbox WHERE seq > (SELECT last FROM id_cursor)
