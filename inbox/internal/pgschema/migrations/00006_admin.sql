-- Since when a consumer is there. Of those that were there before nobody knows. In two steps:
-- a default that came with the column would stand for them, too.
ALTER TABLE @{_consumers} ADD COLUMN since timestamptz;
ALTER TABLE @{_consumers} ALTER COLUMN since SET DEFAULT now();
COMMENT ON COLUMN @{_consumers}.since IS 'when the first message came; NULL for consumers older than this column';

-- Operators change positions, too: who, and why, is kept beside the rest.
COMMENT ON TABLE @{_audit} IS 'who did what to parked messages and to positions, and why; rows are only ever added';
COMMENT ON COLUMN @{_audit}.parked_no IS 'the parked message; 0 where the row is about a position';
