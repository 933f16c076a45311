-- Outbox tables as services have them, on MySQL and MariaDB.

-- The whole message is JSON in one column.
CREATE TABLE outbox (
    id varchar(100) NOT NULL PRIMARY KEY,
    data blob NOT NULL,
    state int NOT NULL,
    created_on datetime NOT NULL,
    locked_by varchar(100),
    locked_on datetime,
    processed_on datetime,
    number_of_attempts int NOT NULL,
    last_attempted_on datetime,
    error varchar(1000)
);

-- What most articles show.
CREATE TABLE outbox_events (
    id bigint AUTO_INCREMENT PRIMARY KEY,
    aggregate_type varchar(255) NOT NULL,
    aggregate_id varchar(255) NOT NULL,
    event_type varchar(255) NOT NULL,
    payload json NOT NULL,
    created_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    sent_at timestamp(6) NULL,
    attempts int NOT NULL DEFAULT 0,
    KEY (sent_at, created_at)
);
