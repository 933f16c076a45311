-- Payloads that a page has left out, in its order, up to the one with which they reach
-- $2 bytes: at least one, if any is still there. The window reads the lengths from the
-- values' headers and holds no payload.
-- $1 seqs, $2 bytes.
SELECT w.seq, w.payload
FROM (SELECT o.seq, o.payload,
             sum(octet_length(o.payload)) OVER (ORDER BY o.seq ROWS UNBOUNDED PRECEDING) - octet_length(o.payload) AS before
      FROM @{} o
      WHERE o.seq = ANY ($1::bigint[])) w
WHERE w.before < $2::bigint
  AND @{primary}
ORDER BY w.seq
