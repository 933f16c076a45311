-- The tables of bank and ledger on MySQL, MariaDB and SQLite, one statement for all. Effects
-- have no unique constraint: one that happened twice is there twice.
CREATE TABLE accounts (name VARCHAR(64) NOT NULL PRIMARY KEY, balance BIGINT NOT NULL, opening BIGINT NOT NULL, version BIGINT NOT NULL);
CREATE TABLE transfers (id VARCHAR(64) NOT NULL PRIMARY KEY, account VARCHAR(64) NOT NULL, version BIGINT NOT NULL, amount BIGINT NOT NULL, to_account VARCHAR(64) NOT NULL);
CREATE TABLE balances (name VARCHAR(64) NOT NULL PRIMARY KEY, balance BIGINT NOT NULL, opening BIGINT NOT NULL);
CREATE TABLE effects (no @{autoincrement}, consumer VARCHAR(64) NOT NULL, id VARCHAR(64) NOT NULL, account VARCHAR(64) NOT NULL, amount BIGINT NOT NULL, to_account VARCHAR(64) NOT NULL, child VARCHAR(64) NOT NULL);
CREATE TABLE id_cursor (last BIGINT NOT NULL);
INSERT INTO id_cursor VALUES (0);
CREATE TABLE foreign_rows (no BIGINT NOT NULL PRIMARY KEY);
