SELECT seq FROM leat_outbox WHERE id = ?
