-- The business tables of the ingest service.

-- One row per repository. A transaction that writes it locks it until the commit, so version
-- counts the transactions of a repository in the order in which they committed: the checker's
-- own measure of order.
CREATE TABLE repositories (
    name    text   PRIMARY KEY,
    version bigint NOT NULL
);

-- What was received and committed. Rolled back deliveries are not here.
CREATE TABLE deliveries (
    id         text   PRIMARY KEY,
    repository text   NOT NULL,
    type       text   NOT NULL,
    version    bigint NOT NULL
);

-- The position of the relay of SABOTAGE=id-cursor.
CREATE TABLE id_cursor (last bigint NOT NULL);
INSERT INTO id_cursor VALUES (0);
