-- The business tables of the ingest service. Texts compare byte by byte, as they do in Go.

-- One row per repository. A transaction that writes it locks it until the commit, so version
-- counts the transactions of a repository in the order in which they committed: the checker's
-- own measure of order.
CREATE TABLE repositories (
    name    VARBINARY(255) NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL
);

-- What was received and committed. Rolled back deliveries are not here.
CREATE TABLE deliveries (
    id         VARBINARY(64) NOT NULL PRIMARY KEY,
    repository VARBINARY(255) NOT NULL,
    type       VARBINARY(255) NOT NULL,
    version    BIGINT NOT NULL
);

-- The position of the relay of SABOTAGE=id-cursor.
CREATE TABLE id_cursor (last BIGINT NOT NULL);
INSERT INTO id_cursor VALUES (0);
