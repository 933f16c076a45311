-- The ledger's tables. Effects have no unique constraint: one that happened twice is
-- there twice.
CREATE TABLE balances (
  name    text   PRIMARY KEY,
  balance bigint NOT NULL,
  opening bigint NOT NULL
);
CREATE TABLE effects (
  no       bigint GENERATED ALWAYS AS IDENTITY,
  consumer text   NOT NULL,
  id       text   NOT NULL,
  key      text   NOT NULL,
  amount   bigint NOT NULL,
  to_key   text   NOT NULL,
  child    text   NOT NULL
);
CREATE INDEX ON effects USING hash (id);
