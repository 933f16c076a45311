-- The bank's own tables.
CREATE TABLE accounts (
  name    text   PRIMARY KEY,
  balance bigint NOT NULL,
  opening bigint NOT NULL,
  version bigint NOT NULL DEFAULT 0
);
CREATE TABLE transfers (
  id      text   NOT NULL,
  key     text   NOT NULL,
  version bigint NOT NULL,
  amount  bigint NOT NULL,
  to_key  text   NOT NULL
);
-- Ids may be longer than an index takes.
CREATE UNIQUE INDEX ON transfers (md5(id));
