-- One row per request that was processed, written once. Expired rows count as absent; Prune
-- removes them.
CREATE TABLE @{} (
  consumer    text        NOT NULL,
  id          bytea       NOT NULL, -- tenant and key
  fingerprint text        NOT NULL,
  response    bytea       NOT NULL, -- a line of JSON with status and headers, then the body
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at  timestamptz NOT NULL,
  CONSTRAINT @{name:_pkey} PRIMARY KEY (consumer, id)
);
COMMENT ON TABLE @{} IS 'responses of HTTP requests that were processed; a row that is deleted lets its request run again';
CREATE INDEX @{name:_expires_at_idx} ON @{} (expires_at);
