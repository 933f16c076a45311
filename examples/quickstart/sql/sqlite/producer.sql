-- The business tables of the ingest service.

-- One row per repository. A transaction that writes it locks it until the commit, so version
-- counts the transactions of a repository in the order in which they committed: the checker's
-- own measure of order.
CREATE TABLE repositories (
    name    TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL
);

-- What was received and committed. Rolled back deliveries are not here.
CREATE TABLE deliveries (
    id         TEXT NOT NULL PRIMARY KEY,
    repository TEXT NOT NULL,
    type       TEXT NOT NULL,
    version    INTEGER NOT NULL
);

-- The position of the relay of SABOTAGE=id-cursor.
CREATE TABLE id_cursor (last INTEGER NOT NULL);
INSERT INTO id_cursor VALUES (0);
