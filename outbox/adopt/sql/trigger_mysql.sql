-- Writes each row that is inserted into the outbox as well. The shard is that of the key, or of
-- the id: the low bits of FNV-1a. Locks of keys are not taken: they would last until COMMIT, so that
-- producers that never waited for each other would, and could deadlock (design 3.8). So the order of a key is that of
-- the inserts. What is evaluated fails in a block of its own, so that errors of the outbox, such as a
-- deadlock, reach the producer as they are.
CREATE TRIGGER {trigger} AFTER INSERT ON {table} FOR EACH ROW
BEGIN
    DECLARE leat_id, leat_topic, leat_key, leat_type, leat_payload, leat_headers LONGBLOB;
    DECLARE leat_time, leat_not_before BIGINT;
    DECLARE leat_at INT DEFAULT 1;
    DECLARE leat_shard INT DEFAULT 5;
    DECLARE leat_field, leat_why TEXT CHARACTER SET utf8mb4;
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            GET DIAGNOSTICS CONDITION 1 leat_why = MESSAGE_TEXT;
            SET leat_why = LEFT(CONCAT('leat: a row of ', {name}, ' cannot be sent: ', COALESCE(CONCAT(leat_field, ': '), ''), leat_why), 128);
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = leat_why;
        END;
        SET leat_field = {id_source}, leat_id = {id};
        SET leat_field = {topic_source}, leat_topic = {topic};
        SET leat_field = {key_source}, leat_key = COALESCE({key}, '');
        SET leat_field = {type_source}, leat_type = COALESCE({type}, '');
        SET leat_field = {payload_source}, leat_payload = {payload};
        SET leat_field = {time_source}, leat_time = {time};
        SET leat_field = {not_before_source}, leat_not_before = {not_before};
        SET leat_field = {headers_source}, leat_why = {headers_problem};
        IF leat_why IS NOT NULL THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = leat_why;
        END IF;
        SET leat_headers = COALESCE({headers}, '');
        IF leat_headers = '{}' THEN
            SET leat_headers = '';
        END IF;
        SET leat_field = NULL, leat_why = CASE
            WHEN COALESCE(LENGTH(leat_id), 0) = 0 THEN CONCAT({id_source}, ' must not be NULL or empty')
            WHEN LENGTH(leat_id) > 512 THEN CONCAT({id_source}, ' is longer than 512 bytes: ', LENGTH(leat_id))
            WHEN COALESCE(LENGTH(leat_topic), 0) = 0 THEN CONCAT({topic_source}, ' must not be NULL or empty')
            WHEN LENGTH(leat_topic) > 255 THEN CONCAT({topic_source}, ' is longer than 255 bytes: ', LENGTH(leat_topic))
            WHEN LENGTH(leat_key) > 4096 THEN CONCAT({key_source}, ' is longer than 4096 bytes: ', LENGTH(leat_key))
            WHEN LENGTH(leat_type) > 512 THEN CONCAT({type_source}, ' is longer than 512 bytes: ', LENGTH(leat_type))
            WHEN leat_payload IS NULL THEN CONCAT({payload_source}, ' must not be NULL')
            WHEN LENGTH(leat_payload) > 983040 THEN CONCAT({payload_source}, ' is larger than 983040 bytes: ', LENGTH(leat_payload))
            WHEN LENGTH(leat_headers) > 65536 THEN CONCAT({headers_source}, ' are larger than 65536 bytes: ', LENGTH(leat_headers))
        END;
        IF leat_why IS NOT NULL THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = leat_why;
        END IF;
    END;
    WHILE leat_at <= LENGTH(IF(leat_key = '', leat_id, leat_key)) DO
        SET leat_shard = ((leat_shard ^ ORD(SUBSTRING(IF(leat_key = '', leat_id, leat_key), leat_at, 1))) * 19) & 63, leat_at = leat_at + 1;
    END WHILE;
    IF leat_not_before > @{now} THEN
        INSERT INTO @{_delayed} (not_before, shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at)
        VALUES (leat_not_before, leat_shard, leat_id, leat_topic, leat_key, leat_type, leat_payload, leat_headers, leat_time, @{now});
    ELSE
        INSERT INTO @{} (shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at)
        VALUES (leat_shard, leat_id, leat_topic, leat_key, leat_type, leat_payload, leat_headers, leat_time, @{now});
    END IF;
END
